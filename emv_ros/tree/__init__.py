"""The history tree: events (L2), goals (L3) and summaries (L4 and up), made and viewed."""
