// SPDX-License-Identifier: Apache-2.0
#include "launcher/live/live_json.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "config_schema/text/terminal_text.hpp"
#include "launcher/lease/lease_words.hpp"

namespace train {

namespace {

// Fields stay in the order that people expect.
using Json = nlohmann::ordered_json;

Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json since(std::int64_t held_ms, std::int64_t now_ms) {
  return held_ms == 0 ? Json(nullptr) : Json(std::max<std::int64_t>(0, now_ms - held_ms));
}

double decimal(Quantity quantity) {
  return static_cast<double>(quantity.parts()) / static_cast<double>(Quantity::scale);
}

Json holder_json(const LeaseHolder& holder, std::int64_t now_ms) {
  return {{"task", or_null(holder.task)},
          {"name", or_null(holder.name)},
          {"user", or_null(holder.user)},
          {"uid", holder.uid < 0 ? Json(nullptr) : Json(holder.uid)},
          {"launcher", or_null(holder.launcher)},
          {"pid", holder.pid == 0 ? Json(nullptr) : Json(holder.pid)},
          {"command", or_null(holder.command)},
          {"since", since(holder.held_ms, now_ms)}};
}

Json share_json(const LiveHost& host, const SlotShare& share, std::int64_t now_ms) {
  Json holder = holder_json(host.report->holders[share.holder], now_ms);
  holder["share"] = decimal(share.amount);
  return holder;
}

Json slot_json(const LiveHost& host, std::size_t slot, std::int64_t now_ms) {
  const auto& shares = host.slots.slots[slot];
  Json others = Json::array();
  for (std::size_t i = 1; i < shares.size(); ++i)
    others.push_back(share_json(host, shares[i], now_ms));
  return {{"slot", slot},
          {"holder", shares.empty() ? Json(nullptr) : share_json(host, shares.front(), now_ms)},
          {"others", std::move(others)}};
}

Json beside_json(const LiveHost& host, std::int64_t now_ms) {
  Json all = Json::array();
  for (std::size_t i = 0; i < host.slots.beside.size(); ++i) {
    if (host.slots.beside[i].empty()) continue;
    Json holder = holder_json(host.report->holders[i], now_ms);
    holder["holds"] = words_of(host.slots.beside[i]);
    all.push_back(std::move(holder));
  }
  return all;
}

Json host_json(const LiveHost& host, std::int64_t now_ms) {
  const HostReport report = host.report.value_or(HostReport());
  const bool is_there = host.is_reachable();
  const auto or_none = [&](Json value) { return is_there ? std::move(value) : Json(nullptr); };
  Json slots = Json::array();
  for (std::size_t slot = 0; slot < host.slots.slots.size(); ++slot)
    slots.push_back(slot_json(host, slot, now_ms));
  return {
      {"name", host.host.name},
      {"reachable", is_there},
      {"error", is_there ? or_null(report.lease_trouble) : Json(in_one_line(host.report.error()))},
      {"identity", or_null(report.lease_identity)},
      {"lease_directory", or_null(report.lease_folder)},
      {"same_as", or_null(host.same_as)},
      {"slots_are", host.is_known() ? Json(to_string(host.slots.kind)) : Json(nullptr)},
      {"slots", std::move(slots)},
      {"beside", beside_json(host, now_ms)},
      {"gpus", or_none(report.gpus.count())},
      {"gpu_type", or_null(gpu_type_of(host))},
      {"cpus", or_none(report.cpus)},
      {"load", or_none(static_cast<double>(report.load_permil) / 1'000)},
      {"memory", or_none(report.memory)},
      {"memory_available", or_none(report.available)},
      {"driver", or_null(report.driver)}};
}

Json hosts_json(const std::vector<LiveHost>& hosts, std::int64_t now_ms) {
  Json all = Json::array();
  for (const LiveHost& host : hosts) all.push_back(host_json(host, now_ms));
  return all;
}

Json task_json(const HeldTask& task, std::int64_t now_ms) {
  return {{"id", task.id},
          {"name", task.name},
          {"state", state_of(task)},
          {"slots", slots_text(task)},
          {"hosts", fmt::format("{}", fmt::join(task.hosts, ","))},
          {"ranks", nullptr},
          {"user", task.user},
          {"created_ms", nullptr},
          {"started_ms", since(task.held_ms, now_ms)},
          {"ended_ms", nullptr},
          {"restarts", nullptr},
          {"exit_code", nullptr},
          {"error_class", nullptr},
          {"cause", nullptr},
          {"launcher", task.launcher}};
}

std::string text_of(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string live_hosts_to_json(const std::vector<LiveHost>& hosts, std::int64_t now_ms) {
  return text_of(hosts_json(hosts, now_ms), -1);
}

std::string held_tasks_to_json(const std::vector<HeldTask>& tasks, std::int64_t now_ms) {
  Json all = Json::array();
  for (const HeldTask& task : tasks) all.push_back(task_json(task, now_ms));
  return text_of(all, -1);
}

std::string live_hosts_document(const std::vector<LiveHost>& hosts, std::int64_t now_ms) {
  return shown_json(text_of({{"hosts", hosts_json(hosts, now_ms)}}, 2)) + "\n";
}

}  // namespace train
