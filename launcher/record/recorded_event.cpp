// SPDX-License-Identifier: Apache-2.0
#include "launcher/record/recorded_event.hpp"

namespace train {

std::string_view to_string(RecordedEvent::What what) {
  using enum RecordedEvent::What;
  switch (what) {
    case created:
      return "created";
    case supervised:
      return "supervised";
    case attempt_begun:
      return "attempt_begun";
    case ranks_started:
      return "ranks_started";
    case attempt_failing:
      return "attempt_failing";
    case attempt_hopeless:
      return "attempt_hopeless";
    case attempt_over:
      return "attempt_over";
    case stop_requested:
      return "stop_requested";
    case task_over:
      return "task_over";
  }
  return "created";
}

}  // namespace train
