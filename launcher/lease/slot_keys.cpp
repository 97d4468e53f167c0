// SPDX-License-Identifier: Apache-2.0
// Separate from lease.cpp: hosts do not need plans.
#include "launcher/lease/slot_keys.hpp"

#include "launcher/plan/plan.hpp"

namespace train {

namespace {

using Kind = LeaseKey::Kind;

Kind kind_of_devices(const Host& host) {
  switch (maker_of_devices(host)) {
    case AcceleratorMaker::nvidia:
      return Kind::cuda;
    case AcceleratorMaker::amd:
      return Kind::rocm;
    default:
      return Kind::device;
  }
}

}  // namespace

LeaseKey key_of_slot(const Host& host, SlotNature nature, int slot) {
  if (nature.asked_at_launch) return {Kind::slot, slot, {}};
  if (!nature.are_devices) return {Kind::place, slot, {}};
  return {kind_of_devices(host), devices_of(host, {slot}).front(), {}};
}

}  // namespace train
