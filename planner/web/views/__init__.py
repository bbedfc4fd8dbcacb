"""Pages: each view looks up, decides who may, and hands plain values to a template."""
