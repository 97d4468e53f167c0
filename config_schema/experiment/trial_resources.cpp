// SPDX-License-Identifier: Apache-2.0
#include "config_schema/experiment/trial_resources.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "config_schema/text/text.hpp"

namespace train {

namespace {

constexpr const char* key = "resources_per_trial";

bool are_same(const std::optional<Amount>& one, const std::optional<Amount>& other) {
  const Quantity none;
  return (one ? one->quantity : none) == (other ? other->quantity : none);
}

bool are_same(const Amounts& one, const Amounts& other) {
  return are_same(one.cpu, other.cpu) && are_same(one.gpu, other.gpu) &&
         are_same(one.tpu, other.tpu) && one.memory.value_or(0) == other.memory.value_or(0) &&
         one.custom == other.custom;
}

class ResourcesReader {
 public:
  explicit ResourcesReader(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  std::optional<TrialResources> read(const GivenValue& given) {
    TrialResources resources;
    resources.given = &given;
    const YamlNode& node = *given.node;
    const YamlEntry* bundles = node.find("bundles");
    if (node.kind == YamlKind::sequence) {
      read_bundles(node, given.place, key, resources);
    } else if (bundles) {
      read_bundles(*bundles->value, value_place(*bundles), std::string(key) + ".bundles",
                   resources);
      read_rest_of_factory(node, resources);
    } else {
      resources.worker = read_bundle(node, key);
    }
    return is_wrong_ ? std::nullopt : std::optional(std::move(resources));
  }

 private:
  void read_bundles(const YamlNode& list, const Place& place, const std::string& path,
                    TrialResources& resources) {
    if (list.kind != YamlKind::sequence || list.items.empty())
      return complain(place, path, fmt::format("'{}' must be a list of at least one bundle", path),
                      "write [{cpu: 1}, {cpu: 2, gpu: 1}]");
    std::vector<Amounts> bundles;
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      const std::string name = fmt::format("{}[{}]", path, i);
      const YamlNode& bundle = *list.items[i];
      const Place at = bundle.mark.text ? place_of(bundle.mark) : place;
      if (bundle.kind != YamlKind::mapping)
        return complain(
            at, name,
            fmt::format("'{}' must be a mapping of amounts, not {}", name, describe(bundle)),
            "write {cpu: 1}");
      bundles.push_back(read_bundle(bundle, name));
      if (i > 1 && !are_same(bundles[1], bundles[i]))
        return complain(at, name,
                        fmt::format("'{0}' is not like '{1}[1]': the workers of a trial are all "
                                    "alike here",
                                    name, path),
                        "write the same amounts in all bundles but the first");
    }
    resources.worker = bundles.back();
    if (bundles.size() == 1) return;
    resources.trainer = bundles.front();
    resources.workers = static_cast<int>(bundles.size()) - 1;
  }

  void read_rest_of_factory(const YamlNode& factory, TrialResources& resources) {
    for (const YamlEntry& entry : factory.entries) {
      const std::string name = fmt::format("{}.{}", key, entry.key);
      if (entry.key == "bundles" || entry.value->is_null()) continue;
      if (entry.key != "strategy") {
        complain(place_of(entry.mark), name,
                 fmt::format("unknown key '{}' beside 'bundles' in '{}'", entry.key, key),
                 "amounts belong into one of the bundles");
        continue;
      }
      resources.placement = policy_of(to_lower(entry.value->text));
      if (resources.placement) continue;
      complain(value_place(entry), name,
               fmt::format("'{}' must be one of PACK, SPREAD, STRICT_PACK or STRICT_SPREAD, not {}",
                           name, describe(*entry.value)),
               "");
    }
  }

  static std::optional<PlacementPolicy> policy_of(const std::string& word) {
    for (const PlacementPolicy policy :
         {PlacementPolicy::pack, PlacementPolicy::spread, PlacementPolicy::strict_pack,
          PlacementPolicy::strict_spread})
      if (word == to_string(policy)) return policy;
    return std::nullopt;
  }

  // Tune uses small letters, Ray's bundles use capitals.
  Amounts read_bundle(const YamlNode& mapping, const std::string& path) {
    auto capitals = std::make_shared<YamlNode>(mapping);
    for (YamlEntry& entry : capitals->entries) {
      const std::string name = to_upper(entry.key);
      if (entry.key != "cpu" && entry.key != "gpu") continue;
      if (mapping.find(name))
        complain(place_of(entry.mark), fmt::format("{}.{}", path, entry.key),
                 fmt::format("'{}' and '{}' are both in '{}'", entry.key, name, path),
                 "both mean the same: keep one of them");
      entry.key = name;
    }
    return read_amounts(*capitals, path, diagnostics_);
  }

  void complain(const Place& place, const std::string& path, std::string what, std::string hint) {
    is_wrong_ = true;
    diagnostics_.error(place, path, std::move(what), std::move(hint));
  }

  Diagnostics& diagnostics_;
  bool is_wrong_ = false;
};

}  // namespace

std::optional<TrialResources> read_trial_resources(const FieldReader& fields,
                                                   Diagnostics& diagnostics) {
  const GivenValue* given = fields.given(key);
  return given ? ResourcesReader(diagnostics).read(*given) : std::nullopt;
}

}  // namespace train
