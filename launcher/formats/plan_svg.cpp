// SPDX-License-Identifier: Apache-2.0
#include "launcher/formats/plan_svg.hpp"

#include <fmt/format.h>

#include "launcher/formats/plan_text.hpp"
#include "launcher/picture/picture_svg.hpp"

namespace train {

std::string plan_to_svg(const PictureSubject& subject) {
  PictureSubject drawn = subject;
  drawn.most_rows = 40;
  std::string subtitle;
  const auto add = [&subtitle](const char* what, const std::string& line) {
    if (!line.empty())
      subtitle += fmt::format("{}{}: {}", subtitle.empty() ? "" : "; ", what, line);
  };
  add("batch", batch_line(subject.plan));
  add("slices", slices_line(subject.plan));
  add("trials", trials_line(subject.plan));
  const PictureCaption caption{.title = plan_title(subject.plan, subject.named.hosts.size()),
                               .subtitle = std::move(subtitle)};
  return picture_to_svg(draw_cluster(drawn), caption);
}

}  // namespace train
