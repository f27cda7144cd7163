"""Kernels of whole tables: chains over latent records."""
