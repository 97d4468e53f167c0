// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan_svg.hpp"

#include "launcher/picture/picture_svg.hpp"
#include "launcher/plan_text.hpp"

namespace train {

std::string plan_to_svg(const PictureSubject& subject) {
  PictureSubject drawn = subject;
  drawn.most_rows = 40;
  const std::string batch = batch_line(subject.plan);
  const PictureCaption caption{.title = plan_title(subject.plan, subject.named.hosts.size()),
                               .subtitle = batch.empty() ? "" : "batch: " + batch};
  return picture_to_svg(draw_cluster(drawn), caption);
}

}  // namespace train
