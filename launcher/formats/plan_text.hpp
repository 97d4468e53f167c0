// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/picture/cluster_picture.hpp"
#include "launcher/picture/picture_text.hpp"
#include "launcher/plan/plan.hpp"

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

/// How many trials run at once, and why not more: "4 of 12 at once (max_slots; 6 would fit)".
/// Nothing for an experiment of one trial.
std::string trials_line(const Plan& plan);

/// The TPU slices of the plan and their hosts: "a: t[1-4], b: t[5-8], and 6 more"; nothing without.
std::string slices_line(const Plan& plan);

/// The directory that travels: "code: 3 files, 812 bytes, sha256 0f3a..."; nothing without one.
std::string context_line(const Plan& plan);

}  // namespace train
