import Foundation
import Testing

@testable import APNSDevice

/// What pushes and the clock do with a device's Live Activities. A value, with the time as an argument.
struct LiveActivitiesTests {
    private static let bundleID = "com.example.app"
    private static let noon = Date(timeIntervalSince1970: 1_800_000_000)

    private var activities = LiveActivities()

    private static func push(
        _ aps: String, priority: Int = 10, channel: String? = nil, activity: UUID? = nil, startToken: Bool = false,
    ) -> ReceivedNotification {
        ReceivedNotification(
            id: "1", topic: bundleID + ".push-type.liveactivity", bundleID: bundleID, priority: priority,
            pushType: "liveactivity", channel: channel, activity: activity?.uuidString.lowercased(),
            startToken: startToken, payload: Array(#"{"aps":{\#(aps)}}"#.utf8))
    }

    private static func start(_ more: String = "", score: Int = 0) -> String {
        #""event":"start","timestamp":1800000000,"attributes-type":"Match","attributes":{"home":"A"},"alert":"x","#
            + #""content-state":{"score":\#(score)}\#(more)"#
    }

    private static func update(_ score: Int, at timestamp: Int = 1_800_000_001, _ more: String = "") -> String {
        #""event":"update","timestamp":\#(timestamp),"content-state":{"score":\#(score)}\#(more)"#
    }

    @discardableResult
    private mutating func receive(
        _ push: ReceivedNotification, after seconds: Double = 0, id: UUID = UUID(),
    ) -> [LiveActivities.Outcome] {
        activities.receive(push, id: id, at: Self.noon + seconds)
    }

    private static func state(_ activity: LiveActivity) -> String {
        String(decoding: activity.contentState, as: UTF8.self)
    }

    private func changes(_ outcomes: [LiveActivities.Outcome]) -> [LiveActivity.Change] {
        outcomes.compactMap { if case .changed(_, let change) = $0 { change } else { nil } }
    }

    @Test mutating func `A push starts one with all that it says`() throws {
        let id = UUID()
        let outcomes = receive(
            Self.push(Self.start(#","stale-date":1800000060,"relevance-score":75,"input-push-token":1"#)), id: id)
        #expect(changes(outcomes) == [.started])
        let activity = try #require(activities.shown(of: Self.bundleID).first)
        #expect(activity.id == id)
        #expect(activity.attributesType == "Match")
        #expect(String(decoding: activity.attributes, as: UTF8.self) == #"{"home":"A"}"#)
        #expect(Self.state(activity) == #"{"score":0}"#)
        #expect(activity.relevanceScore == 75)
        #expect(activity.updates == .token)
        #expect(activity.isActive)
        #expect(activities.due == Self.noon + 60)
    }

    @Test(arguments: ["attributes", "attributes-type", "content-state", "alert", "timestamp"])
    mutating func `A start without a part that it needs starts nothing`(key: String) {
        let aps = Self.start().replacing("\"\(key)\"", with: "\"x\"")
        #expect(receive(Self.push(aps)) == [.ignored(.nothingToShow)])
        #expect(activities.count == 0)
    }

    @Test mutating func `An update is for the one with the device token`() {
        let (first, second) = (UUID(), UUID())
        receive(Self.push(Self.start()), id: first)
        receive(Self.push(Self.start()), id: second)
        receive(Self.push(Self.update(1), activity: second))
        let states = Dictionary(
            uniqueKeysWithValues: activities.shown(of: Self.bundleID).map { ($0.id, Self.state($0)) })
        #expect(states == [first: #"{"score":0}"#, second: #"{"score":1}"#])
        #expect(receive(Self.push(Self.update(2), activity: UUID())) == [.ignored(.noActivity)])
        // With the app's own token, all of the app's are meant.
        #expect(receive(Self.push(Self.update(3, at: 1_800_000_002))).count == 2)
    }

    @Test mutating func `The token that starts Live Activities changes none`() throws {
        #expect(changes(receive(Self.push(Self.start(), startToken: true))) == [.started])
        let end = #""event":"end","timestamp":1800000009,"content-state":{"score":9}"#
        for aps in [Self.update(1), end] {
            #expect(receive(Self.push(aps, startToken: true)) == [.ignored(.cannotUpdate)])
        }
        let activity = try #require(activities.shown(of: Self.bundleID).first)
        #expect(activity.isActive)
        #expect(Self.state(activity) == #"{"score":0}"#)
        // They have used nothing of the budget.
        for count in 1...LiveActivities.Budget.standard.rawValue {
            #expect(changes(receive(Self.push(Self.update(count, at: 1_800_000_002)))) == [.updated])
        }
    }

    @Test mutating func `Neither a Live Activity's own token nor a channel starts another one`() {
        #expect(receive(Self.push(Self.start(), activity: UUID())) == [.ignored(.cannotStart)])
        #expect(receive(Self.push(Self.start(), channel: "AAAA")) == [.ignored(.cannotStart)])
        #expect(activities.count == 0)
    }

    @Test mutating func `An update in the second of the start is not older, and one without a timestamp is ignored`() {
        #expect(changes(receive(Self.push(Self.start()), after: 0.7)) == [.started])
        #expect(changes(receive(Self.push(Self.update(1, at: 1_800_000_000)), after: 0.8)) == [.updated])
        for aps in [#""event":"update","content-state":{"score":2}"#, #""event":"end""#] {
            #expect(receive(Self.push(aps)) == [.ignored(.nothingToShow)])
        }
    }

    @Test(arguments: [#""""#, "{}", #"{"launch-image":"i"}"#, "null", "1"])
    mutating func `A start whose alert shows nothing starts nothing`(alert: String) {
        let aps = Self.start().replacing(#""alert":"x""#, with: #""alert":\#(alert)"#)
        #expect(receive(Self.push(aps)) == [.ignored(.nothingToShow)])
    }

    @Test mutating func `Of a key that is there twice the last value counts`() {
        let aps = #""event":"end","event":"start","alert":null,"# + Self.start()
        #expect(changes(receive(Self.push(aps))) == [.started])
    }

    @Test mutating func `A broadcast is for those of its channel`() {
        receive(Self.push(Self.start(#","input-push-channel":"AAAA""#)))
        receive(Self.push(Self.start(#","input-push-channel":"BBBB""#)))
        #expect(changes(receive(Self.push(Self.update(1), channel: "AAAA"))) == [.updated])
        #expect(receive(Self.push(Self.update(1), channel: "CCCC")) == [.ignored(.noActivity)])
        #expect(activities.uses("AAAA", of: Self.bundleID))
        receive(Self.push(#""event":"end","timestamp":1800000009"#, channel: "AAAA"))
        #expect(!activities.uses("AAAA", of: Self.bundleID))
    }

    @Test mutating func `An older state is ignored`() throws {
        receive(Self.push(Self.start()))
        receive(Self.push(Self.update(2, at: 1_800_000_010)))
        #expect(receive(Self.push(Self.update(1, at: 1_800_000_009))) == [.ignored(.outdated)])
        #expect(Self.state(try #require(activities.shown(of: Self.bundleID).first)) == #"{"score":2}"#)
    }

    @Test mutating func `At its stale date it is outdated, until an update`() throws {
        receive(Self.push(Self.start(#","stale-date":1800000060"#)))
        #expect(activities.tick(at: Self.noon + 59).isEmpty)
        #expect(activities.tick(at: Self.noon + 60).map(\.1) == [.stale])
        #expect(activities.tick(at: Self.noon + 61).isEmpty)
        receive(Self.push(Self.update(1, at: 1_800_000_070)), after: 70)
        #expect(try #require(activities.shown(of: Self.bundleID).first).isStale == false)
        receive(Self.push(Self.update(1, at: 1_800_000_080, #","stale-date":1800000075"#)), after: 80)
        #expect(try #require(activities.shown(of: Self.bundleID).first).isStale)
    }

    @Test mutating func `An end keeps it on show for four hours at most`() throws {
        receive(Self.push(Self.start()))
        let outcomes = receive(Self.push(#""event":"end","timestamp":1800000001,"content-state":{"score":9}"#))
        #expect(changes(outcomes) == [.ended])
        let ended = try #require(activities.shown(of: Self.bundleID).first)
        #expect(Self.state(ended) == #"{"score":9}"#)
        #expect(ended.dismissal == Self.noon + LiveActivity.longestShownAfterEnd)
        #expect(receive(Self.push(Self.update(10, at: 1_800_000_002))) == [.ignored(.noActivity)])
        #expect(activities.tick(at: Self.noon + LiveActivity.longestShownAfterEnd).map(\.1) == [.dismissed])
        #expect(activities.count == 0)
        #expect(activities.due == nil)
    }

    @Test(arguments: [(-1.0, LiveActivity.Change.dismissed, 0.0), (60, .ended, 60), (20 * 3600, .ended, 4 * 3600)])
    mutating func `The dismissal date decides when it disappears`(
        date: Double, change: LiveActivity.Change, shown: Double,
    ) {
        receive(Self.push(Self.start()))
        let end = #""event":"end","timestamp":1800000001,"dismissal-date":\#(1_800_000_000 + Int(date))"#
        #expect(changes(receive(Self.push(end))) == [change])
        if change == .ended { #expect(activities.due == Self.noon + shown) }
    }

    @Test mutating func `After eight hours the system ends it`() {
        receive(Self.push(Self.start()))
        #expect(activities.due == Self.noon + LiveActivity.longestActive)
        #expect(activities.tick(at: Self.noon + LiveActivity.longestActive).map(\.1) == [.ended])
        let last = Self.noon + LiveActivity.longestActive + LiveActivity.longestShownAfterEnd
        #expect(activities.tick(at: last).map(\.1) == [.dismissed])
    }

    @Test mutating func `The most relevant is first, then the newest`() {
        let ids = [UUID(), UUID(), UUID()]
        receive(Self.push(Self.start(#","relevance-score":1"#)), id: ids[0])
        receive(Self.push(Self.start(#","relevance-score":100"#)), after: 1, id: ids[1])
        receive(Self.push(Self.start(#","relevance-score":1"#)), after: 2, id: ids[2])
        #expect(activities.shown(of: Self.bundleID).map(\.id) == [ids[1], ids[2], ids[0]])
    }

    @Test(arguments: LiveActivities.Budget.allCases)
    mutating func `Updates of priority 10 are limited in an hour, and others are not`(budget: LiveActivities.Budget) {
        activities.change(budget, of: Self.bundleID)
        receive(Self.push(Self.start()))
        for second in 1...budget.rawValue {
            #expect(changes(receive(Self.push(Self.update(1, at: 1_800_000_001)), after: Double(second))) == [.updated])
        }
        let after = Double(budget.rawValue + 1)
        #expect(receive(Self.push(Self.update(2)), after: after) == [.ignored(.overBudget)])
        #expect(changes(receive(Self.push(Self.update(3), priority: 5), after: after)) == [.updated])
        #expect(changes(receive(Self.push(Self.update(4)), after: 3601.5)) == [.updated])
        // An end always comes through.
        #expect(
            changes(receive(Self.push(#""event":"end","timestamp":1800000002"#), after: 3601.6)) == [.ended])
    }

    @Test mutating func `There are no more than the limit`() {
        for _ in 0..<LiveActivities.maximumCount { receive(Self.push(Self.start())) }
        #expect(receive(Self.push(Self.start())) == [.ignored(.overBudget)])
        activities.removeAll(of: Self.bundleID)
        #expect(activities.count == 0)
    }

    @Test(arguments: ["", #""event":"begin""#, #""event":1"#, #""alert":"x""#])
    mutating func `A push without an event changes nothing`(aps: String) {
        receive(Self.push(Self.start()))
        #expect(receive(Self.push(aps)) == [.ignored(.nothingToShow)])
    }

    @Test mutating func `An update without a state changes nothing, and uses nothing of the budget`() {
        receive(Self.push(Self.start()))
        for _ in 0...LiveActivities.Budget.standard.rawValue {
            #expect(receive(Self.push(#""event":"update""#)) == [.ignored(.nothingToShow)])
        }
        #expect(changes(receive(Self.push(Self.update(1)))) == [.updated])
    }
}
