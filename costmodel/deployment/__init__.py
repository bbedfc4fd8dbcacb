"""A model on GPUs under an engine: number formats, how it is split, what rules it out."""
