// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/text_options.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace train {

TextOptions text_options() {
  TextOptions options;
  if (::isatty(STDOUT_FILENO) != 1) return options;
  const char* no_color = std::getenv("NO_COLOR");
  options.color = no_color == nullptr || *no_color == '\0';
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return options;
  if (size.ws_col > 0) options.width = size.ws_col;
  if (size.ws_row > 1) options.height = size.ws_row - 1;  // leaves a line for the prompt
  return options;
}

}  // namespace train
