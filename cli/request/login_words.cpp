// SPDX-License-Identifier: Apache-2.0
#include "cli/request/login_words.hpp"

#include <fmt/format.h>

#include "config_schema/hosts/host_fold.hpp"

namespace train {

namespace {

std::string are_logged_in(const std::vector<std::string>& hosts) {
  return hosts_that(hosts, "is", "are") + " logged in to with";
}

}  // namespace

std::string hosts_that(const std::vector<std::string>& hosts, std::string_view one,
                       std::string_view several) {
  return hosts.size() == 1 ? fmt::format("host {} {}", summarize_hosts(hosts), one)
                           : fmt::format("hosts {} {}", summarize_hosts(hosts), several);
}

TerminalText describe_logins(const Logins& logins, const std::string& task_id) {
  TerminalText all;
  const auto add = [&all](const TerminalText& words) {
    if (!all.empty()) all += "\n";
    all += words;
  };
  if (const auto hosts = logins.hosts_by(LoginMeans::agent); !hosts.empty())
    add(
        terminal_text("{} ssh-agent: once it has ended, as at logout, a connection that is lost "
                      "is not made again before another terminal lends its agent:\n"
                      "  train task attach {}",
                      are_logged_in(hosts), task_id));
  if (const auto hosts = logins.hosts_by(LoginMeans::kerberos); !hosts.empty())
    add(
        terminal_text("{} Kerberos: once its tickets have expired, a connection that is lost is "
                      "not made again before there are new ones (kinit), or another terminal "
                      "lends its own:\n"
                      "  train task attach {}",
                      are_logged_in(hosts), task_id));
  if (const auto hosts = logins.hosts_by(LoginMeans::security_key); !hosts.empty())
    add(
        terminal_text("{} a security key: a connection that is lost is not made again unless the "
                      "key is plugged in then, and touched",
                      are_logged_in(hosts)));
  return all;
}

}  // namespace train
