"""The ROS nodes; the only folder that imports rclpy or the generated messages."""
