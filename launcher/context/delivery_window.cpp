// SPDX-License-Identifier: Apache-2.0
#include "launcher/context/delivery_window.hpp"

#include <algorithm>
#include <optional>

namespace train {

void DeliveryWindow::sent(std::uint64_t end, std::chrono::nanoseconds now) {
  unanswered_.push_back({end, end - taken_, now});
}

// Whatever was on its way when a byte was sent has passed by the time that byte was taken: the rate
// of the link, as long as it was busy all the time. If it was not, the window is too small, grows
// with every answer, and soon is not.
void DeliveryWindow::taken(std::uint64_t bytes, std::chrono::nanoseconds now) {
  std::optional<Sent> last;
  while (!unanswered_.empty() && unanswered_.front().end <= bytes) {
    last = unanswered_.front();
    unanswered_.pop_front();
  }
  taken_ = bytes;
  if (!last) return;
  const double seconds = std::chrono::duration<double>(now - last->at).count();
  const double most = static_cast<double>(context_window);
  const double wanted =
      static_cast<double>(last->on_its_way) * std::chrono::duration<double>(longest_queue).count();
  size_ = seconds * most <= wanted
              ? context_window
              : std::max(smallest, static_cast<std::uint64_t>(wanted / seconds));
}

}  // namespace train
