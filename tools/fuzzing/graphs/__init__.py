"""Whole graphs: drawn node by node out of the recipes for one operator and out of patterns of exporters, each node tried beforehand on its own."""
