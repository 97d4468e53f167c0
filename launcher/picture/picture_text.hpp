// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "launcher/picture/cluster_picture.hpp"

namespace train {

/// How text is shown.
struct TextOptions {
  int width = 80;           ///< columns; at least 40 are used
  int height = 40;          ///< lines of one screen; at least 24 are used
  bool color = false;       ///< with terminal control sequences
  std::size_t holders = 4;  ///< maximum number of holders named below a picture; others are counted

  bool operator==(const TextOptions&) const = default;
};

/// Text colours, as parameters of the terminal sequence "select graphic rendition".
enum class Paint { title, used, held, faint, warning, advice };

/// The text enclosed in control sequences for its colour, if colours are on.
std::string painted(const std::string& text, Paint paint, const TextOptions& options);

/// The picture as lines: a heading, a line for each row (hosts, ranks, cells between bars), and an
/// explanation of the marks in the cells, if there are any. A cell that spans several slots is one
/// rank; a host with more slots than fit into the line is drawn in proportion.
std::string picture_to_text(const ClusterPicture& picture, const TextOptions& options);

}  // namespace train
