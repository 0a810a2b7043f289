"""Ready experiments: `trellis experiments` lists them."""
