"""In-flight verification of a running PyTorch program: `with guard(model) as g:` around training or inference."""
