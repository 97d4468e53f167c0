// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/picture/cluster_picture.hpp"
#include "launcher/picture/picture_text.hpp"
#include "launcher/plan.hpp"

namespace train {

/// The plan for people, one screen: a title, the cluster with every host as a row and its slots as
/// cells, the rank table, the batch, warnings and advice. Hosts and ranks are folded until they fit
/// the screen; warnings and advice are shown whole. `subject.most_rows` is not used. Ends with a
/// newline.
std::string plan_to_text(const PictureSubject& subject, const TextOptions& options = {});

/// One line that says what runs: "digits: 16 ranks on 2 of 3 hosts, 16 slots".
std::string plan_title(const Plan& plan, std::size_t hosts);

/// What each step takes, or nothing without a batch: "global 101, ranks take 100, ...".
std::string batch_line(const Plan& plan);

}  // namespace train
