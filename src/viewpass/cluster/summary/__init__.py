"""Summaries of models and runs; `fields` documents what is in them."""

from viewpass.cluster.summary.fields import ClusterSummary, Summary
from viewpass.cluster.summary.overview import summarise, summary

__all__ = ["ClusterSummary", "Summary", "summarise", "summary"]
