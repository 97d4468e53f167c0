// SPDX-License-Identifier: Apache-2.0
#include "launcher/wire/message_limits.hpp"

#include <fmt/format.h>

#include "launcher/frames/json_fields.hpp"

namespace train {

namespace {

void cut(std::string& text, std::size_t most) { text = cut_to_json(std::move(text), most); }

// Messages of the launcher are not limited.
template <class Other>
void limit(Other&) {}

void limit(message::Hello& m) {
  cut(m.host_name, longest_name);
  cut(m.boot_id, longest_name);
  if (m.holding.size() > most_attempts) m.holding.resize(most_attempts);
}

void limit(message::NoAgent& m) { cut(m.boot_id, longest_name); }

void limit(message::Displaced& m) { cut(m.by, longest_name); }

void limit(message::Ready& m) {
  cut(m.run_directory, longest_path);
  cut(m.checkpoint_mark, longest_name);
}

void limit(message::Refused& m) {
  if (m.problems.size() > most_problems) {
    const std::size_t left_out = m.problems.size() - (most_problems - 1);
    m.problems.resize(most_problems - 1);
    m.problems.push_back({{}, {}, fmt::format("and {} more problems there", left_out), {}});
  }
  for (Diagnostic& problem : m.problems) {
    cut(problem.message, longest_words);
    cut(problem.hint, longest_words);
  }
}

void limit(message::RankNotStarted& m) { cut(m.reason, longest_words); }

void limit(message::RankEnded& m) {
  cut(m.error_file, longest_error_file);
  cut(m.core, longest_words);
  cut(m.parent_end, longest_words);
  if (!m.memory_kill) return;
  cut(m.memory_kill->limit, longest_words);
  cut(m.memory_kill->process, longest_words);
}

void limit(message::RanksSeen& m) {
  if (m.touched > longest_heartbeat_age) m.touched.reset();
  if (m.states.size() > most_rank_states) m.states.resize(most_rank_states);
  std::size_t stacks = 0;
  for (RankState& state : m.states) {
    cut(state.command, longest_state_name);
    if (state.state.size() > 1) state.state.resize(1);
    cut(state.waits_in, longest_state_name);
    cut(state.kernel_stack, longest_kernel_stack);
    cut(state.python, longest_python_stack);
    stacks += json_size(state.kernel_stack) + json_size(state.python);
    if (stacks <= longest_stacks) continue;
    state.kernel_stack.clear();
    state.python.clear();
  }
}

template <class M>
void limit_survivors(M& m) {
  if (m.survivors.size() > most_survivors) {
    m.more_survivors += static_cast<int>(m.survivors.size() - most_survivors);
    m.survivors.resize(most_survivors);
  }
  for (message::Survivor& survivor : m.survivors) cut(survivor.command, longest_command);
}

void limit(message::Finished& m) { limit_survivors(m); }

void limit(message::LeftBehind& m) { limit_survivors(m); }

}  // namespace

Message within_limits(Message message) {
  std::visit([](auto& m) { limit(m); }, message);
  return message;
}

}  // namespace train
