// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/host_hints.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config_schema/hosts/accelerators.hpp"
#include "config_schema/hosts/host_fold.hpp"
#include "config_schema/text/text.hpp"
#include "launcher/placement/search_words.hpp"

namespace train {
namespace {

class HostHints : public SearchWords {
 public:
  using SearchWords::SearchWords;

  // Each hint belongs to the constraint that failed.
  std::vector<std::string> take() {
    switch (constraint_.kind) {
      case Constraint::Kind::accelerator_type:
        add_type_hint();
        break;
      case Constraint::Kind::slices:
        add_slice_hint();
        break;
      case Constraint::Kind::slots:
        add_cpu_hint();
        add_undeclared_hint();
        break;
      default:
        break;
    }
    return std::move(lines_);
  }

 private:
  // A similar name is a different model (H100, H200), so only another spelling of the same name is
  // suggested.
  void add_type_hint() {
    const auto plain = [](std::string_view type) {
      std::string text = to_lower(type);
      std::replace_if(
          text.begin(), text.end(), [](char c) { return c == '_' || c == ' '; }, '-');
      return text;
    };
    const std::string& wanted = experiment_.needs.accelerator_type;
    bool is_said = false;
    for (const Host& each : inventory_.hosts) {
      const std::string& type = each.accelerator_type;
      if (type.empty()) continue;
      is_said = true;
      if (type == wanted) continue;
      if (plain(type) == plain(wanted) || type == accelerator_type_of(wanted))
        return lines_.push_back(fmt::format("did you mean '{}'?", type));
    }
    if (!is_said)
      lines_.emplace_back("no host says its type: write 'accelerator_type:' in the hosts file");
  }

  // A host without a slice name is a slice of its own.
  void add_slice_hint() {
    if (experiment_.slices->hosts == 1) return;
    std::vector<std::string> without;
    for (const int index : search_.eligible)
      if (host(index).slice.empty()) without.push_back(host(index).name);
    if (without.empty()) return;
    lines_.push_back(
        fmt::format("{} {} no slice: write 'slice: NAME' for each host in the hosts file, the same "
                    "for all hosts of a slice",
                    summarize_hosts(without), without.size() == 1 ? "names" : "name"));
  }

  void add_cpu_hint() {
    if (experiment_.needs.gpus_named) return;
    if (search_.eligible.size() != 1 || supply(search_.eligible.front()).kind != SlotKind::cpus)
      return;
    const auto index = static_cast<std::size_t>(search_.eligible.front());
    HostInventory declared = inventory_;
    declared.hosts[index].slots = experiment_.workers;
    if (!search_hosts(experiment_, declared).is_placed()) return;
    lines_.push_back(fmt::format(
        "a host without accelerators has its CPUs as slots: declare more, as in -H {}:{}",
        inventory_.hosts[index].name, experiment_.workers));
  }

  void add_undeclared_hint() {
    std::vector<std::string> undeclared;
    for (const int index : search_.eligible)
      if (supply(index).undeclared) undeclared.push_back(host(index).name);
    if (!undeclared.empty()) lines_.push_back(undeclared_slots_text(undeclared));
  }

  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> host_hints(const ExperimentConfig& experiment,
                                    const HostInventory& inventory, const HostSearch& search) {
  return HostHints(experiment, inventory, search).take();
}

}  // namespace train
