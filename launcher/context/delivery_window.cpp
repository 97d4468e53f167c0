// SPDX-License-Identifier: Apache-2.0
#include "launcher/context/delivery_window.hpp"

#include <algorithm>
#include <optional>

namespace train {

void DeliveryWindow::sent(std::uint64_t end, std::chrono::nanoseconds now) {
  unanswered_.push_back({end, end - taken_, now});
}

// Between sending a byte and its confirmation, everything that was in flight before it has passed
// the link as well: that gives the link's rate if it was busy all the time. If it was not, the
// window was too small; it then grows with every confirmation until it is large enough.
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
