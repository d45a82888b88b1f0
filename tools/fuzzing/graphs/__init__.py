"""Whole graphs: drawn node by node out of the recipes for one operator and out of patterns of exporters. Each node is
first run alone."""
