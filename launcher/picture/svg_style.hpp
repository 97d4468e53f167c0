// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace train {

/// The style sheet and the hatching of a picture: light, or dark where the reader prefers that.
/// Every rule is scoped to class `train-plan`, so that a page may hold the SVG inline.
extern const std::string_view svg_style;

}  // namespace train
