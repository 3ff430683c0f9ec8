"""Studies in one call: parameters fitted to measurements, dimensions that serve a purpose best."""
