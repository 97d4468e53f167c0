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
    case trial_over:
      return "trial_over";
    case search_decided:
      return "search_decided";
    case stop_requested:
      return "stop_requested";
    case task_over:
      return "task_over";
  }
  return "created";
}

std::vector<RecordedEvent> outside_of_trials(const std::vector<RecordedEvent>& events) {
  using enum RecordedEvent::What;
  std::vector<RecordedEvent> outside;
  for (const RecordedEvent& event : events)
    if (event.what == created || event.what == supervised || event.what == stop_requested ||
        event.what == task_over)
      outside.push_back(event);
  return outside;
}

}  // namespace train
