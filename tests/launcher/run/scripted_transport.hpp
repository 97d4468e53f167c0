// SPDX-License-Identifier: Apache-2.0
#pragma once
// Hosts that are asked something, and do what their script says.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/ports/transport.hpp"
#include "tests/launcher/simulation/virtual_time.hpp"

namespace train {

// What a host does when it is asked, in this order; nothing: it is silent for ever.
struct Script {
  nanoseconds delay{0};  // before it does anything
  std::string text = {};
  std::optional<std::string> closes = {};  // why, right after the text
  bool is_asking = false;                  // until then
};

// Hosts that do what their script says, byte for byte.
class ScriptedTransport final : public Transport {
 public:
  explicit ScriptedTransport(simulation::VirtualTime& time) : time_(time) {}

  std::unique_ptr<HostLink> open(const Host& host, const AgentCall& call,
                                 LinkEvents events) override {
    asked.push_back(host.name + " " + to_string(call.verb) + " " + call.key);
    auto link = std::make_unique<Link>(time_, sent);
    const auto script = scripts.find(host.name);
    if (script == scripts.end()) return link;
    const Script said = script->second;
    link->asks_until = said.is_asking ? time_.now() + said.delay : time_.now();
    if (auto& next = further[host.name]; !next.empty()) {
      script->second = next.front();
      next.erase(next.begin());
    }
    time_.at(time_.now() + said.delay,
             [wanted = std::weak_ptr<bool>(link->wanted), said, events = std::move(events)] {
               if (!wanted.expired() && !said.text.empty()) events.on_open({});
               for (const char byte : said.text)
                 if (!wanted.expired()) events.on_bytes(std::string_view(&byte, 1));
               if (!wanted.expired() && said.closes)
                 events.on_closed(make_error(ErrorClass::host, *said.closes));
             });
    return link;
  }

  std::map<std::string, Script> scripts;
  std::map<std::string, std::vector<Script>> further = {};  // what is done when asked again
  std::vector<std::string> asked;
  std::string sent;

 private:
  struct Link final : HostLink {
    Link(simulation::VirtualTime& now, std::string& all) : time(now), sent(all) {}
    simulation::VirtualTime& time;
    std::string& sent;
    Instant asks_until{0};
    void send(std::string bytes) override { sent += bytes; }
    std::size_t unsent_bytes() const override { return 0; }
    bool is_asking() const override { return time.now() < asks_until; }
    std::shared_ptr<bool> wanted = std::make_shared<bool>(true);
  };
  simulation::VirtualTime& time_;
};

}  // namespace train
