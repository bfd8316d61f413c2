"""The networks: memory and observation in, logits, value and memory out."""
