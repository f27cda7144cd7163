"""Inference about whole tables from noisy counts of their marginals."""
