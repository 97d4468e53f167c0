// SPDX-License-Identifier: Apache-2.0
#include "launcher/picture/host_drawing.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "launcher/plan/summaries.hpp"

namespace train {
namespace {

constexpr Quantity whole = Quantity::of(1);
constexpr double gib = 1 << 30;

// All slots of the host, including those that a filter left out.
int slots_of(const HostScene& scene, const SlotSupply& supply) {
  int slots = slot_count(scene.host).value_or(0);
  if (supply.kind == SlotKind::missing) slots = scene.host.slots.value_or(0);
  if (supply.undeclared) slots = 1;
  if (scene.planned && !scene.planned->slots.empty())
    slots = std::max(slots, scene.planned->slots.back() + 1);
  return slots;
}

std::string amounts_of(Quantity cpus, std::uint64_t memory,
                       const std::map<std::string, Quantity>& custom) {
  std::vector<std::string> amounts;
  if (!cpus.is_zero()) amounts.push_back(counted(to_string(cpus), "CPU"));
  if (memory > 0) amounts.push_back(fmt::format("{:.3g} GiB", static_cast<double>(memory) / gib));
  for (const auto& [name, quantity] : custom)
    if (!quantity.is_zero()) amounts.push_back(fmt::format("{} {}", to_string(quantity), name));
  return fmt::format("{}", fmt::join(amounts, ", "));
}

std::string trainer_note(const TrainerNeeds& trainer) {
  std::string gpus;
  if (!trainer.gpus.is_zero()) gpus = counted(to_string(trainer.gpus), "GPU");
  const std::string others = amounts_of(trainer.cpus, trainer.memory, trainer.custom);
  return fmt::format("trainer: {}{}{}", gpus, gpus.empty() || others.empty() ? "" : ", ", others);
}

}  // namespace

HostDrawing::HostDrawing(const Plan& plan, const HostInventory& usable)
    : plan_(plan), constraints_(constraints_of(plan.experiment, usable)) {}

HostLook HostDrawing::look_of(const HostScene& scene) {
  const SlotSupply supply = slot_supply(scene.host, plan_.experiment.needs);
  HostLook look{.slots = slots_of(scene, supply),
                .runs = {},
                .ranks = scene.planned ? scene.planned->rank_count : 0,
                .is_left_out = scene.is_left_out,
                .note = {}};
  if (scene.is_left_out) {
    if (look.slots > 0)
      look.runs = {{.first_slot = 0, .slots = look.slots, .state = SlotState::excluded}};
    return look;
  }
  SlotMarks marks;
  if (scene.planned) mark_ranks(marks, scene, supply);
  if (scene.planned && scene.planned->first_rank == 0) mark_trainer(marks);
  if (scene.uses) mark_uses(marks, scene);
  look.runs = marks.take_runs(look.slots, scene.host.slot_indices);
  look.note = notes_of(scene, supply);
  return look;
}

void HostDrawing::mark_ranks(SlotMarks& marks, const HostScene& scene,
                             const SlotSupply& supply) const {
  const PlannedHost& planned = *scene.planned;
  const bool is_rank_a_worker = planned.rank_count == planned.worker_count;
  const Quantity share = is_rank_a_worker ? std::min(whole, supply.use) : whole;
  for (int local = 0; local < planned.rank_count; ++local) {
    const PlannedRank& rank = plan_.trial.ranks[planned.first_rank + local];
    for (const int slot : rank.slots) marks.use(slot, local, share);
  }
}

void HostDrawing::mark_trainer(SlotMarks& marks) {
  const TrainerNeeds& trainer = plan_.experiment.trainer;
  const Quantity share = trainer.gpus.is_zero() ? trainer.cpus : trainer.gpus;
  for (const int slot : plan_.trial.trainer_slots)
    marks.hold(slot, share, holders_.index_of("the trainer"));
}

void HostDrawing::mark_uses(SlotMarks& marks, const HostScene& scene) {
  for (const HostUse* use : *scene.uses)
    for (const auto& [slot, share] : use->slots)
      if (slot >= 0 && !share.is_zero()) marks.hold(slot, share, holders_.index_of(use->holder));
}

std::vector<std::string> HostDrawing::notes_of(const HostScene& scene, const SlotSupply& supply) {
  std::vector<std::string> notes;
  if (scene.planned) {
    if (scene.planned->slots.empty()) notes.emplace_back("CPU only");
    const TrainerNeeds& trainer = plan_.experiment.trainer;
    const bool is_counted = !trainer.is_default || scene.planned->host.cpus;
    if (scene.planned->first_rank == 0 && !trainer.empty() && is_counted)
      notes.push_back(trainer_note(trainer));
  } else if (std::string obstacle = obstacle_of(scene.host); !obstacle.empty()) {
    notes.push_back(std::move(obstacle));
  }
  if (supply.undeclared) notes.emplace_back("slots not said");
  if (!scene.uses) return notes;
  for (const HostUse* use : *scene.uses) {
    const std::string amounts = amounts_of(use->cpus, use->memory, use->custom);
    const bool has_slots = !use->slots.empty();
    if (!has_slots && !amounts.empty())
      notes.push_back(fmt::format("{} held by {}", amounts, use->holder));
  }
  return notes;
}

// Why no worker could run there even if the whole host were free.
std::string HostDrawing::obstacle_of(const Host& host) const {
  for (const Constraint& constraint : constraints_) {
    using Kind = Constraint::Kind;
    const bool is_of_one_host = constraint.kind != Kind::trainer && constraint.kind != Kind::slices;
    if (!is_of_one_host || workers_allowed(constraint, {host, nullptr}, plan_.experiment) > 0)
      continue;
    if (constraint.kind == Kind::pool)
      return host.pool.empty() ? "in no pool" : fmt::format("pool {}", host.pool);
    if (constraint.kind == Kind::accelerator_type)
      return host.accelerator_type.empty() ? "GPU type not said" : host.accelerator_type;
    if (constraint.kind == Kind::labels) return "other labels";
    if (constraint.kind == Kind::slots)
      return plan_.experiment.needs.gpus_named ? "too few GPUs" : "too few slots";
    if (constraint.kind == Kind::cpus) return "too few CPUs";
    if (constraint.kind == Kind::memory) return "too little memory";
    if (constraint.kind == Kind::custom) return fmt::format("too little {}", constraint.name);
    return "cannot serve";
  }
  return {};
}

}  // namespace train
