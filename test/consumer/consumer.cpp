// Uses a message, a service and an action of emv_ros, and the type support behind them, as a node
// with rclcpp does; rclcpp itself is not needed for it.

#include <cstdlib>
#include <iostream>

#include "emv_ros/action/query_episodic_memory.hpp"
#include "emv_ros/msg/skill_event.hpp"
#include "emv_ros/srv/get_events.hpp"
#include "rosidl_typesupport_cpp/action_type_support.hpp"
#include "rosidl_typesupport_cpp/message_type_support.hpp"
#include "rosidl_typesupport_cpp/service_type_support.hpp"

int main()
{
  using emv_ros::action::QueryEpisodicMemory;
  using emv_ros::msg::SkillEvent;
  using emv_ros::srv::GetEvents;

  SkillEvent event;
  event.skill = "Grasp";
  event.status = SkillEvent::STATUS_FAILED;
  event.goal_stack = {"SetTable"};

  GetEvents::Request request;
  request.statuses.push_back(event.status);

  QueryEpisodicMemory::Goal goal;
  goal.question = "Did you grasp the cup?";

  const bool supported =
    rosidl_typesupport_cpp::get_message_type_support_handle<SkillEvent>() != nullptr &&
    rosidl_typesupport_cpp::get_service_type_support_handle<GetEvents>() != nullptr &&
    rosidl_typesupport_cpp::get_action_type_support_handle<QueryEpisodicMemory>() != nullptr;

  std::cout << emv_ros::msg::to_yaml(event);
  return supported ? EXIT_SUCCESS : EXIT_FAILURE;
}
