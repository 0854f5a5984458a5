"""Pictures to detections, tracks, scene graphs (L1) and observations."""
