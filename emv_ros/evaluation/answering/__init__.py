"""Questions with known answers, asked of the agent: ways to answer beside one another."""
