// SPDX-License-Identifier: Apache-2.0
#include "cli/story/context_story.hpp"

#include <unistd.h>

#include <algorithm>

#include "backends/context/context_files.hpp"
#include "cli/terminal/talk.hpp"

namespace train {

void ContextStory::print(const TerminalText& text) {
  terminal_.write(Terminal::Stream::err, talk_text(text));
}

void ContextStory::named(const ContextSummary& context) {
  constexpr std::size_t most_warnings = 10;
  for (std::size_t i = 0; i < std::min(most_warnings, context.warnings.size()); ++i)
    print(terminal_text("warning: {}", context.warnings[i]));
  if (context.warnings.size() > most_warnings)
    print(terminal_text("warning: the same of {} more", context.warnings.size() - most_warnings));
  task_.context.sha256 = context.context.sha256;
  task_.context.files = static_cast<std::int64_t>(context.files);
  task_.context.bytes = static_cast<std::int64_t>(context.bytes);
  recorder_.write();
}

// Progress is useful only on a terminal; it would only lengthen a log.
void ContextStory::show_progress(const ContextProgress& progress) {
  if (::isatty(STDERR_FILENO) != 1) return;
  print(terminal_text("the context is on its way to {} host{}; {} {}{}", progress.hosts,
                      progress.hosts == 1 ? "" : "s",
                      progress.hosts == 1 ? "it has" : "the slowest has", size_text(progress.least),
                      progress.of ? " of " + size_text(*progress.of) : ""));
}

}  // namespace train
