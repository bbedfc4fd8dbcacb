"""What a model is, and how a Hugging Face config, sizes or a parameter count become one."""
