"""The agent: a model explores the memory from a console and answers with evidence."""
