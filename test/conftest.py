"""What holds for every test: it stays on this machine, on one thread, and is strict."""

import os

# Before anything imports rclpy, NumPy or litellm, which read these once.
os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
os.environ.setdefault('ROS_PYTHON_CHECK_FIELDS', '1')
os.environ.setdefault('OMP_NUM_THREADS', '1')
os.environ.setdefault('LITELLM_LOCAL_MODEL_COST_MAP', 'True')
