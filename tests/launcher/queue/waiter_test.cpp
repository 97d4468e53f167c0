// SPDX-License-Identifier: Apache-2.0
#include "launcher/queue/waiter.hpp"

#include "launcher/wire/ticket_fields.hpp"
#include "tests/catch.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

Ticket ticket_of(const std::string& task, std::int64_t time, bool is_final = true) {
  Ticket ticket;
  ticket.order = {time, time, task};
  ticket.is_final = is_final;
  return ticket;
}

// A more urgent one of the same user.
Ticket urgent_of(const std::string& task, std::int64_t time) {
  Ticket ticket = ticket_of(task, time);
  ticket.priority = most_urgent;
  ticket.is_own_user = true;
  return ticket;
}

constexpr std::int64_t second = 1'000'000'000;

const Error unreachable = make_error(ErrorClass::host, "no route");

// What the waiter wants, a word for each: "open 0", "send 1", "plan".
std::string wants(Waiter& waiter) {
  struct Word {
    std::string operator()(const waiter_action::Open& a) { return of("open", a.host); }
    std::string operator()(const waiter_action::Close& a) { return of("close", a.host); }
    std::string operator()(const waiter_action::Send& a) { return of("send", a.host); }
    std::string operator()(const waiter_action::Plan&) { return "plan"; }
    std::string operator()(const waiter_action::ReportPlace&) { return "place"; }
    std::string operator()(const waiter_action::ReportLost& a) { return of("lost", a.host); }
    std::string operator()(const waiter_action::ReportClocks& a) {
      return of("clock of", a.ahead) + " is ahead of " + std::to_string(a.behind) + " by " +
             std::to_string(a.lead / 1s) + " s" + (a.is_passed_over ? " and passed over" : "");
    }
    std::string operator()(const waiter_action::ReportPassed& a) {
      return of(("pass " + a.other.order.task + " on").c_str(), a.host);
    }
    std::string operator()(const waiter_action::GiveUp& a) {
      return "give up " + std::string(to_string(a.why.error_class));
    }
    static std::string of(const char* verb, int host) {
      return std::string(verb) + " " + std::to_string(host);
    }
  };
  std::string words;
  for (const WaiterAction& action : waiter.take_actions())
    words += (words.empty() ? "" : ", ") + std::visit(Word(), action);
  return words;
}

// One that stands on its hosts, with the order 100, and has planned for the first time.
Waiter standing(int hosts, std::optional<nanoseconds> limit = std::nullopt) {
  Waiter waiter(Ticket(), "m", hosts, limit);
  waiter.start(0s, 0);
  for (int host = 0; host < hosts; ++host) waiter.reported(host, 100, {}, 1s);
  (void)waiter.take_actions();
  waiter.planned(Turn::held, 1s);
  return waiter;
}

}  // namespace

TEST_CASE("the order of a task is its latest arrival, once all hosts have told it") {
  Waiter waiter(Ticket(), "m", 2);
  waiter.start(0s, 0);
  CHECK(wants(waiter) == "open 0, open 1");
  waiter.reported(0, 500, {}, 1s);
  CHECK(wants(waiter) == "");
  CHECK_FALSE(waiter.order());
  waiter.reported(1, 300, {}, 2s);
  CHECK(wants(waiter) == "send 0, send 1, place, plan");
  REQUIRE(waiter.order());
  CHECK(*waiter.order() == TicketOrder{500, 500, "m"});
  CHECK(waiter.ticket(0).is_final);
  CHECK(waiter.place().number == 1);
}

TEST_CASE("a host that does not answer holds up the order for a while alone") {
  Waiter waiter(Ticket(), "m", 2);
  waiter.start(0s, 0);
  waiter.reported(0, 500, {}, 1s);
  (void)waiter.take_actions();
  waiter.tick(10s);
  CHECK_FALSE(waiter.order());
  waiter.tick(11s);
  CHECK(wants(waiter) == "send 0, send 1, place, plan");
  waiter.reported(1, 900, {}, 12s);
  CHECK(waiter.order() == TicketOrder{500, 500, "m"});
}

TEST_CASE("a host whose clock is hours ahead does not make an order late") {
  Waiter waiter(Ticket(), "m", 2);
  waiter.start(5s, 1'000 * second);
  waiter.reported(0, 1'000 * second, {}, 6s);
  waiter.reported(1, 8'200 * second, {}, 7s);
  CHECK(waiter.order() == TicketOrder{1'022 * second, 1'022 * second, "m"});
}

TEST_CASE("a launcher whose clock is behind goes by the lower median of its hosts") {
  Waiter waiter(Ticket(), "m", 4);
  waiter.start(0s, 1'000 * second);
  waiter.reported(0, latest_arrival, {}, 1s);
  waiter.reported(1, 8'200 * second, {}, 1s);
  waiter.reported(2, 8'201 * second, {}, 1s);
  waiter.reported(3, latest_arrival, {}, 1s);
  CHECK(waiter.order() == TicketOrder{8'221 * second, 8'221 * second, "m"});
  waiter.reported(1, 8'200 * second, {urgent_of("u", 8'230 * second)}, 30s);
  CHECK(waiter.order() == TicketOrder{8'230 * second + 1, 8'221 * second, "m"});
}

TEST_CASE("clocks of hosts that cannot both be right are told, once the order is final") {
  Waiter waiter(Ticket(), "m", 3);
  waiter.start(0s, 500 * second);
  waiter.reported(0, 500 * second, {}, 1s);
  waiter.reported(1, 4'100 * second, {}, 1s);
  (void)waiter.take_actions();
  waiter.reported(2, 510 * second, {}, 2s);
  CHECK(wants(waiter) ==
        "clock of 1 is ahead of 0 by 3600 s and passed over, send 0, send 1, send 2, place, plan");

  Waiter late(Ticket(), "m", 2);
  late.start(0s, 4'100 * second);
  late.reported(0, 500 * second, {}, 1s);
  (void)late.take_actions();
  late.reported(1, 4'100 * second, {}, 1s);
  CHECK(wants(late) == "clock of 1 is ahead of 0 by 3600 s, send 0, send 1, place, plan");

  Waiter other(Ticket(), "m", 2);
  other.start(0s, 0);
  other.reported(0, 500 * second, {}, 1s);
  (void)other.take_actions();
  other.reported(1, 520 * second, {}, 11s);
  CHECK(wants(other) == "send 0, send 1, place, plan");
}

TEST_CASE("a host that is out of reach is told once, left out, and tried again") {
  Waiter waiter(Ticket(), "m", 2);
  waiter.start(0s, 0);
  (void)waiter.take_actions();
  waiter.reported(0, 500, {}, 1s);
  waiter.lost(1, unreachable, 1s);
  CHECK(wants(waiter) == "lost 1, send 0, place, plan");
  CHECK_FALSE(waiter.stands_on(1));
  waiter.tick(2s);
  CHECK(wants(waiter) == "open 1");
  waiter.lost(1, unreachable, 2s);
  CHECK(wants(waiter) == "");
  waiter.tick(3s);
  CHECK(wants(waiter) == "");
  waiter.tick(4s);
  CHECK(wants(waiter) == "open 1");
}

TEST_CASE("tickets on a host that is out of reach are not waited for") {
  Waiter waiter = standing(2);
  waiter.reported(1, 100, {ticket_of("a", 50)}, 2s);
  CHECK(waiter.place().number == 2);
  (void)waiter.take_actions();
  waiter.lost(1, unreachable, 3s);
  CHECK(wants(waiter) == "lost 1, place, plan");
}

TEST_CASE("who lacks hosts that are out of reach lets others go first, and keeps its order") {
  Waiter waiter = standing(2);
  const auto order = waiter.order();
  waiter.planned(Turn::held, 2s);
  (void)waiter.take_actions();
  CHECK(blocks(waiter.ticket(0), "other", std::nullopt));
  waiter.lost(1, unreachable, 3s);
  CHECK(wants(waiter) == "lost 1, plan");
  waiter.planned(Turn::lacks_hosts, 3s);
  CHECK(wants(waiter) == "send 0");
  CHECK(waiter.ticket(0).stands_aside);
  CHECK_FALSE(blocks(waiter.ticket(0), "other", std::nullopt));
  waiter.tick(4s);
  CHECK(wants(waiter) == "open 1");
  waiter.reported(1, 900, {}, 5s);
  CHECK(wants(waiter) == "plan");
  waiter.planned(Turn::held, 5s);
  CHECK(wants(waiter) == "send 0, send 1");
  CHECK(waiter.order() == order);
  CHECK(blocks(waiter.ticket(0), "other", std::nullopt));
}

TEST_CASE("where no host can be reached nothing is waited for") {
  Waiter waiter(Ticket(), "m", 2);
  waiter.start(0s, 0);
  (void)waiter.take_actions();
  waiter.lost(0, unreachable, 1s);
  waiter.lost(1, unreachable, 1s);
  CHECK(wants(waiter) == "lost 0, lost 1, give up host");
  CHECK(waiter.is_over());
  CHECK_FALSE(waiter.next_deadline());
}

TEST_CASE("hosts that were there are waited for, but not for ever") {
  Waiter waiter = standing(1);
  waiter.lost(0, unreachable, 2s);
  CHECK(wants(waiter) == "lost 0");
  waiter.tick(301s);
  CHECK_FALSE(waiter.is_over());
  waiter.tick(302s);
  CHECK(waiter.is_over());
}

TEST_CASE("a host that says nothing any more is lost, one that says that it lives is not") {
  Waiter waiter = standing(2);
  waiter.note_sign_of_life(0, 20s);
  waiter.tick(31s);
  CHECK(wants(waiter) == "close 1, lost 1, plan");
  CHECK(waiter.stands_on(0));
}

TEST_CASE("it is a task's turn on each host where no ticket of a lower order is") {
  Waiter waiter = standing(2);
  waiter.reported(0, 100, {ticket_of("a", 50)}, 2s);
  CHECK(wants(waiter) == "place");
  CHECK_FALSE(waiter.is_turn_on(0));
  CHECK(waiter.is_turn_on(1));
  waiter.reported(1, 100, {ticket_of("b", 60), ticket_of("z", 200)}, 2s);
  CHECK(wants(waiter) == "place");
  CHECK(waiter.place().number == 3);
  REQUIRE(waiter.place().before);
  CHECK(waiter.place().before->order.task == "b");
  waiter.reported(1, 100, {ticket_of("z", 200)}, 3s);
  CHECK(wants(waiter) == "place, plan");
  waiter.planned(Turn::held, 3s);
  waiter.reported(0, 100, {}, 3s);
  CHECK(wants(waiter) == "place, plan");
}

TEST_CASE("a host that always shows somebody who comes first keeps a task from that host alone") {
  Waiter waiter = standing(2);
  for (int report = 1; report < 10; ++report) {
    waiter.reported(0, 100, {ticket_of("nobody" + std::to_string(report), 1)}, 2s);
    CHECK(wants(waiter) == "place");
    waiter.reported(1, 100, {}, 2s);
    CHECK(wants(waiter) == "plan");
    CHECK_FALSE(waiter.is_turn_on(0));
    waiter.planned(Turn::held, 2s);
  }
}

TEST_CASE("who is first on no host plans nothing, whatever they report, and plans once it is") {
  Waiter waiter = standing(2);
  waiter.reported(0, 100, {ticket_of("a", 50)}, 2s);
  waiter.reported(1, 100, {ticket_of("a", 50)}, 2s);
  (void)waiter.take_actions();
  for (int report = 1; report < 10; ++report) {
    waiter.reported(0, 100, {ticket_of("a", 50), ticket_of("z", 100 + report)}, 3s);
    CHECK(wants(waiter) == "");
  }
  waiter.reported(1, 100, {}, 4s);
  CHECK(wants(waiter) == "plan");
}

TEST_CASE("a host that is lost is news, also where it is the turn on another one alone") {
  Waiter waiter = standing(3);
  waiter.reported(0, 100, {ticket_of("a", 50)}, 2s);
  (void)waiter.take_actions();
  waiter.lost(1, unreachable, 3s);
  CHECK(wants(waiter) == "lost 1, plan");
  CHECK_FALSE(waiter.is_turn_on(1));
}

TEST_CASE("a ticket of another user counts by when it came to the host, not by what it claims") {
  Waiter waiter(Ticket(), "m", 1);
  waiter.start(0s, 1'000 * second);
  waiter.reported(0, 1'000 * second, {}, 1s);
  Ticket stranger = ticket_of("a", 1);
  stranger.created_ns = 1'021 * second;
  waiter.reported(0, 1'000 * second, {stranger}, 22s);
  CHECK(waiter.is_turn_on(0));
  CHECK(waiter.place().number == 1);
  stranger.created_ns = 1'019 * second;
  waiter.reported(0, 1'000 * second, {stranger}, 22s);
  CHECK_FALSE(waiter.is_turn_on(0));
  CHECK(waiter.place().number == 2);
}

TEST_CASE("a ticket that may still become later is waited for") {
  Waiter waiter = standing(1);
  waiter.reported(0, 100, {ticket_of("a", 50, false)}, 2s);
  CHECK(waiter.place().number == 2);
  waiter.reported(0, 100, {ticket_of("a", 150)}, 3s);
  CHECK(waiter.place().number == 1);
}

TEST_CASE("a plan is made again when a host has something new to say, and not before") {
  Waiter waiter = standing(1);
  waiter.tick(2s);
  waiter.note_sign_of_life(0, 3s);
  CHECK(wants(waiter) == "");
  waiter.reported(0, 100, {}, 4s);
  CHECK(wants(waiter) == "plan");
  waiter.planned(Turn::fits, 4s);
  waiter.reported(0, 100, {}, 5s);
  CHECK(wants(waiter) == "");
}

TEST_CASE("who was refused tries again after a pause, and keeps its place") {
  Waiter waiter = standing(1);
  const auto order = waiter.order();
  waiter.reported(0, 100, {}, 4s);
  waiter.planned(Turn::fits, 4s);
  (void)waiter.take_actions();
  waiter.refused(4s);
  CHECK(wants(waiter) == "");
  REQUIRE(waiter.next_deadline());
  CHECK(*waiter.next_deadline() == 4s + 250ms);
  waiter.tick(4s + 250ms);
  CHECK(wants(waiter) == "plan");
  CHECK(waiter.order() == order);
}

TEST_CASE("a limit ends the waiting, but not what is being taken") {
  Waiter waiter = standing(1, 60s);
  waiter.reported(0, 100, {}, 55s);
  waiter.planned(Turn::fits, 55s);
  (void)waiter.take_actions();
  waiter.tick(60s);
  CHECK_FALSE(waiter.is_over());
  waiter.refused(61s);
  waiter.tick(61s);
  CHECK(wants(waiter) == "give up busy");
}

TEST_CASE("a deadline that has passed is not asked for again") {
  Waiter waiter = standing(2, 600s);
  waiter.reported(0, 100, {ticket_of("a", 50)}, 2s);
  waiter.lost(1, unreachable, 2s);
  waiter.refused(2s);
  Instant now{2s};
  for (int ticks = 0; ticks < 100 && waiter.next_deadline(); ++ticks) {
    waiter.tick(now);
    if (!waiter.next_deadline()) break;
    CHECK(*waiter.next_deadline() > now);
    now = *waiter.next_deadline();
    waiter.note_sign_of_life(0, now);
  }
  CHECK(waiter.is_over());
}

TEST_CASE("the less urgent of one user's tasks steps behind the more urgent, on all hosts") {
  Waiter waiter = standing(2);
  Ticket others = urgent_of("u", 700);
  others.is_own_user = false;
  waiter.reported(0, 100, {others}, 2s);
  CHECK(waiter.order() == TicketOrder{100, 100, "m"});
  (void)waiter.take_actions();
  waiter.planned(Turn::held, 2s);
  waiter.reported(0, 100, {urgent_of("u", 700)}, 2s);
  CHECK(wants(waiter) == "send 0, send 1, place, plan");
  CHECK_FALSE(waiter.is_turn_on(0));
  CHECK(waiter.is_turn_on(1));
  CHECK(waiter.order() == TicketOrder{701, 100, "m"});
  waiter.reported(0, 100, {urgent_of("u", 700)}, 3s);
  CHECK(wants(waiter) == "");
}

TEST_CASE("a step behind is no longer than the time waited, also by a clock that is hours behind") {
  Waiter waiter(Ticket(), "m", 1);
  waiter.start(0s, 10'000 * second);
  waiter.reported(0, 1'000 * second, {}, 1s);
  CHECK(waiter.order() == TicketOrder{1'000 * second, 1'000 * second, "m"});
  waiter.reported(0, 1'000 * second, {urgent_of("u", 10'005 * second)}, 5s);
  CHECK(waiter.order() == TicketOrder{10'005 * second + 1, 9'981 * second + 1, "m"});
  Ticket stranger = ticket_of("a", 1);
  stranger.created_ns = 1'060 * second;
  waiter.reported(0, 1'000 * second, {stranger}, 60s);
  CHECK(waiter.is_turn_on(0));
}

TEST_CASE("an order that no clock can have told yet is not stepped behind") {
  Waiter waiter(Ticket(), "m", 1);
  waiter.start(0s, 1'000 * second);
  waiter.reported(0, 1'000 * second, {}, 1s);
  for (const std::int64_t time : {latest_arrival, 1'030 * second}) {
    waiter.reported(0, 1'000 * second, {urgent_of("u", time)}, 2s);
    CHECK(waiter.order()->time_ns == 1'000 * second);
  }
  waiter.reported(0, 1'000 * second, {urgent_of("u", 1'030 * second)}, 10s);
  CHECK(waiter.order()->time_ns == 1'030 * second + 1);
}

TEST_CASE("an order is one that hosts take, whatever they and the launcher's clock say") {
  Waiter waiter(Ticket(), "m", 1);
  waiter.start(0s, latest_arrival);
  waiter.reported(0, latest_arrival, {}, 1s);
  CHECK(waiter.order()->time_ns <= latest_arrival);
  waiter.reported(0, latest_arrival, {urgent_of("u", latest_arrival)}, 2s);
  CHECK(waiter.order()->time_ns <= latest_arrival);
}

TEST_CASE("a task that has stepped behind others often enough keeps its place") {
  Waiter waiter = standing(2);
  for (int step = 1; step <= most_steps_behind; ++step) {
    waiter.reported(0, 100, {urgent_of("u", 1'000 * step)}, 2s);
    CHECK(waiter.order()->time_ns == 1'000 * step + 1);
  }
  const auto order = waiter.order();
  (void)waiter.take_actions();
  waiter.reported(0, 100, {urgent_of("u", 1'000'000)}, 3s);
  CHECK(waiter.order() == order);
  CHECK(waiter.is_turn_on(0));
}

TEST_CASE("those who step behind the same task keep the order in which they came") {
  const Ticket urgent = urgent_of("u", 700);
  const auto later = order_behind_more_urgent(ticket_of("a", 60), {urgent}, 700);
  const auto sooner = order_behind_more_urgent(ticket_of("z", 50), {urgent}, 700);
  REQUIRE(later);
  REQUIRE(sooner);
  CHECK(*sooner < *later);
  CHECK(urgent.order < *sooner);
}

TEST_CASE("nobody steps behind who is as urgent, or less") {
  Ticket other = ticket_of("u", 700);
  other.is_own_user = true;
  CHECK_FALSE(order_behind_more_urgent(ticket_of("a", 60), {other}, 700));
  other.priority = 99;
  CHECK_FALSE(order_behind_more_urgent(ticket_of("a", 60), {other}, 700));
}

TEST_CASE("who leaves alone what lies free for him is passed on that host") {
  Waiter waiter(Ticket(), "m", 2);
  waiter.start(0s, 0);
  (void)waiter.take_actions();
  Ticket other = ticket_of("x", 1);
  other.wants = "2";
  other.hosts = 1;
  const auto report = [&](int host, Instant now, int idle) {
    waiter.reported(host, 100, {other}, now, idle);
  };
  report(0, 1s, 2);
  report(1, 1s, 1);  // too few for it
  (void)waiter.take_actions();
  CHECK_FALSE(waiter.is_turn_on(0));
  CHECK(waiter.place().number == 2);
  report(0, 200s, 1);  // somebody has taken one meanwhile
  report(0, 210s, 2);
  waiter.note_sign_of_life(1, 210s);
  CHECK(waiter.next_deadline() == Instant(240s));  // of silence
  for (auto now = 230s; now < 510s; now += 20s) {
    waiter.note_sign_of_life(0, now);
    waiter.note_sign_of_life(1, now);
    waiter.tick(now);
  }
  CHECK(wants(waiter) == "");
  CHECK(waiter.next_deadline() == Instant(510s));
  waiter.tick(510s);
  CHECK(wants(waiter) == "pass x on 0, send 0, plan");
  CHECK(waiter.is_turn_on(0));
  CHECK_FALSE(waiter.is_turn_on(1));
  CHECK(waiter.place().number == 2);
  CHECK(waiter.ticket(0).passed == std::vector<std::string>{"x"});
  CHECK(waiter.ticket(1).passed.empty());
}

// A gang of which one host is free and another is not: it has left nothing alone.
TEST_CASE("who waits on several hosts is passed only while what it wants stays free") {
  Ticket own;
  own.wants = "2";
  Waiter waiter(own, "m", 1);
  waiter.start(0s, 0);
  Ticket gang = ticket_of("g", 1);
  gang.wants = "4";
  gang.hosts = GENERATE(0, 2);  // 0: of an older program
  const auto stand = [&](Instant from, int idle) {
    for (auto now = from; now < from + 600s && !waiter.is_turn_on(0); now += 20s) {
      waiter.reported(0, 100, {gang}, now, idle);
      waiter.tick(now);
    }
  };
  stand(1s, 5);
  CHECK_FALSE(waiter.is_turn_on(0));
  (void)waiter.take_actions();
  stand(1'000s, 6);
  CHECK(waiter.is_turn_on(0));
  CHECK(wants(waiter) == "pass g on 0, send 0, place, plan");
  waiter.planned(Turn::held, 1'700s);
  // Somebody else has taken one of the two that it can spare.
  waiter.reported(0, 100, {gang}, 1'700s, 5);
  CHECK_FALSE(waiter.is_turn_on(0));
  CHECK(wants(waiter) == "send 0, place");
  CHECK(waiter.ticket(0).passed.empty());
  waiter.reported(0, 100, {gang}, 1'710s, 6);
  waiter.tick(1'720s);
  CHECK_FALSE(waiter.is_turn_on(0));
}

// As small tasks behind a large one, for which a slot is kept free.
TEST_CASE("who waits behind another one is not passed for what lies free") {
  Waiter waiter(Ticket(), "m", 1);
  waiter.start(0s, 0);
  Ticket large = ticket_of("l", 1);
  large.wants = "8";
  large.uid = 1;
  Ticket small = ticket_of("s", 2);
  small.wants = "1";
  small.uid = 2;
  for (auto now = 1s; now < 1'000s; now += 20s) {
    waiter.reported(0, 100, {large, small}, now, 1);
    waiter.tick(now);
  }
  CHECK(waiter.ticket(0).passed.empty());
}

TEST_CASE("very many who leave alone what lies free are no work, and not all are passed") {
  Waiter waiter(Ticket(), "m", 1);
  waiter.start(0s, 0);
  std::vector<Ticket> others;
  for (int i = 0; i < 40; ++i) {
    others.push_back(ticket_of("x" + std::to_string(i), 1 + i));
    others.back().wants = "1";
    others.back().hosts = 1;
    others.back().uid = 1;
  }
  for (auto now = 1s; now < 1'000s; now += 20s) {
    waiter.reported(0, 100, others, now, 1);
    waiter.tick(now);
    CHECK(*waiter.next_deadline() > now);
  }
  CHECK(waiter.ticket(0).passed.size() == most_passed);
}

TEST_CASE("nobody passes who is of the same user, or wants more than one host has") {
  Waiter waiter(Ticket(), "m", 1);
  waiter.start(0s, 0);
  Ticket own = ticket_of("x", 1);
  own.is_own_user = true;
  own.wants = "1";
  Ticket large = ticket_of("y", 1);
  large.wants = "16";
  large.hosts = 1;
  Ticket silent = ticket_of("z", 1);
  for (auto now = 1s; now < 1'000s; now += 20s) {
    waiter.reported(0, 100, {own, large, silent}, now, 8);
    waiter.tick(now);
  }
  CHECK(waiter.ticket(0).passed.empty());
  CHECK_FALSE(waiter.is_turn_on(0));
}
