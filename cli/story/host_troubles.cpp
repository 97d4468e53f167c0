// SPDX-License-Identifier: Apache-2.0
#include "cli/story/host_troubles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "config_schema/hosts/host_fold.hpp"

namespace train {

namespace {

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

bool is_numeric_address(std::string_view text) {
  if (text.starts_with('[') && text.ends_with(']'))
    return text.find_first_not_of("[]0123456789abcdef:.%") == text.npos;
  return std::count(text.begin(), text.end(), '.') == 3 &&
         text.find_first_not_of("0123456789.") == text.npos;
}

// Replaces "10.77.1.3:22", or the host's name with a port, by "port 22" and the punctuation after
// it; other words stay.
std::string without_address(std::string_view word, const Host& host) {
  const std::size_t end = word.find_last_not_of(",;:.") + 1;
  const std::string_view body = word.substr(0, end);
  const std::size_t colon = body.rfind(':');
  if (colon == body.npos || !is_digits(body.substr(colon + 1))) return std::string(word);
  const std::string_view address = body.substr(0, colon);
  if (address != host.name && address != host.address && !is_numeric_address(address))
    return std::string(word);
  return fmt::format("port {}{}", body.substr(colon + 1), word.substr(end));
}

std::string without_addresses(std::string_view text, const Host& host) {
  std::string result;
  while (true) {
    const std::size_t end = std::min(text.find(' '), text.size());
    result += without_address(text.substr(0, end), host);
    if (end == text.size()) return result;
    result += ' ';
    text.remove_prefix(end + 1);
  }
}

// The failure of a host without its name, so that equal failures compare equal.
Error without_host(const Failure& failure, const Trial& trial) {
  const std::string prefix = fmt::format("host '{}': ", trial.hosts[failure.host].host.name);
  Error error = failure.error;
  for (Diagnostic& diagnostic : error.diagnostics)
    if (diagnostic.message.starts_with(prefix)) diagnostic.message.erase(0, prefix.size());
  return error;
}

// Failures with the same text are grouped.
std::string text_without_addresses(Error& error, const Host& host) {
  for (Diagnostic& diagnostic : error.diagnostics)
    diagnostic.message = without_addresses(diagnostic.message, host);
  return fmt::format("{}\n{}", static_cast<int>(error.error_class), render(error));
}

class TroubleKinds {
 public:
  explicit TroubleKinds(const Trial& trial) : trial_(trial) {}

  void add(const Failure& failure, bool may_be_first) {
    if (failure.rank || failure.host < 0) return;
    const Error own = without_host(failure, trial_);
    Error common = own;
    const std::string text = text_without_addresses(common, trial_.hosts[failure.host].host);
    if (troubles_.empty()) first_ = text;
    may_be_first = may_be_first && text != first_;
    const auto [found, is_new] = known_.try_emplace({text, may_be_first}, troubles_.size());
    if (is_new) troubles_.push_back({own, {}, may_be_first});
    HostTrouble& trouble = troubles_[found->second];
    if (trouble.error != own) trouble.error = common;
    trouble.hosts.push_back(failure.host);
  }
  std::vector<HostTrouble> take() { return std::move(troubles_); }

 private:
  const Trial& trial_;
  std::string first_;
  std::map<std::pair<std::string, bool>, std::size_t> known_;
  std::vector<HostTrouble> troubles_;
};

}  // namespace

std::string HostTrouble::names(const Trial& trial) const {
  const std::set<int> in_order(hosts.begin(), hosts.end());
  std::vector<std::string> names;
  names.reserve(in_order.size());
  for (const int host : in_order) names.push_back(trial.hosts[host].host.name);
  return names.size() == 1 ? fmt::format("host '{}'", names.front())
                           : "hosts " + summarize_hosts(names);
}

Error HostTrouble::named(const Trial& trial) const { return with_context(error, names(trial)); }

std::vector<HostTrouble> host_troubles(const RunOutcome& outcome, const Trial& trial) {
  TroubleKinds kinds(trial);
  // Before the ranks run, it does not matter which host failed first: equal failures are grouped.
  const std::set<int> simultaneous(outcome.simultaneous.begin(), outcome.simultaneous.end());
  if (outcome.cause) kinds.add(*outcome.cause, false);
  for (int i = 0; i < static_cast<int>(outcome.others.size()); ++i)
    kinds.add(outcome.others[i], outcome.all_started && simultaneous.contains(i));
  return kinds.take();
}

}  // namespace train
