import Matching
import Notifications

// Findings about notifications that were sent again, or should have been.
extension ClientReport {
    static let repetitions: [Rule] = [
        rejectedAgain, unregisteredAgain, retriedWithoutDelay, neverRetried, processedAgain, lost, identical, reusedIDs,
    ]

    /// A shorter time between two attempts does not count as a delay. In milliseconds.
    private static let shortestDelay: UInt64 = 100

    private static let rejectedAgain: Rule = { requests in
        var shown: [RecordedRequest] = []
        for (_, attempts) in groups(requests, by: \.content) {
            for (first, second) in zip(attempts, attempts.dropFirst())
            where first.isRejectedForGood && second.facts.reason == first.facts.reason {
                shown.append(second)
            }
        }
        return finding(
            "rejected-sent-again", .error, section: "2.3.4",
            advice: "Do not send again what was rejected with a 4xx: correct the request first.", shown
        ) { "\($0) requests were sent again unchanged after a 4xx, and rejected again." }
    }

    private static let unregisteredAgain: Rule = { requests in
        var shown: [RecordedRequest] = []
        for (_, requests) in groups(requests, by: { $0.facts.token }) {
            guard let first = requests.firstIndex(where: { $0.isAnswered && $0.facts.status == 410 }) else { continue }
            // If the app has been registered again, later answers are not 410.
            shown += requests[(first + 1)...].filter { $0.facts.status == 410 }
        }
        return finding(
            "unregistered-sent-again", .error, section: "2.3.4",
            advice: "After a 410 remove the device token, unless the device has registered again since its timestamp.",
            shown
        ) { "\($0) requests went to a device token that had been answered with a 410." }
    }

    private static let retriedWithoutDelay: Rule = { requests in
        var shown: [RecordedRequest] = []
        for (_, attempts) in groups(requests, by: \.attempt) {
            var delays: [UInt64] = []
            for (first, second) in zip(attempts, attempts.dropFirst()) where first.isRejectedForNow {
                let delay = second.time - min(first.time, second.time)
                // Random jitter makes some delays shorter than the one before, but not less than half of it. From the third on they
                // are longer than the first nevertheless.
                let hasGrown = delays.count < 2 || delay > delays[0]
                if delay < max(shortestDelay, (delays.last ?? 0) / 2) || !hasGrown { shown.append(second) }
                delays.append(delay)
            }
        }
        return finding(
            "retried-without-delay", .warning, section: "2.3.4",
            advice: "After a 429 or a 5xx send again after a delay that grows with each attempt.", shown
        ) { "\($0) requests were sent again after a 429 or a 5xx without a growing delay." }
    }

    /// Finds notifications that were refused for now, and never sent again.
    private static let neverRetried: Rule = { requests in
        var shown: [RecordedRequest] = []
        for (_, attempts) in groups(requests, by: \.content) where attempts.count == 1 {
            // Another rule reports provider tokens that are made too often.
            let isForOther = attempts[0].facts.reason == "TooManyProviderTokenUpdates"
            if attempts[0].isRejectedForNow, !isForOther { shown.append(attempts[0]) }
        }
        return finding(
            "rejected-never-retried", .warning, section: "2.3.4",
            advice: "After a 429 or a 5xx send the notification again after a growing delay; it was not accepted.",
            shown
        ) { "\($0) notifications were answered with a 429 or a 5xx, and were not sent again until now." }
    }

    /// The longest time before a rehearsal cuts a connection in which an answer may not have reached the client, in
    /// milliseconds.
    private static let inFlight: UInt64 = 1000

    /// The requests whose answers a rehearsal may have destroyed: it left a later request on the same connection without an
    /// answer, which may have ended the connection. The client cannot know that they were processed.
    private static func mayBeUnheard(_ requests: [RecordedRequest]) -> Set<UInt64> {
        var unheard: Set<UInt64> = []
        let connections = groups(requests.filter(\.isHTTP2), by: \.facts.connection)
        for (_, requests) in connections where requests.contains(where: { $0.isRehearsed && !$0.isAnswered }) {
            let cuts = requests.filter { $0.isRehearsed && !$0.isAnswered }.map(\.time)
            for request in requests where request.isAnswered {
                if cuts.contains(where: { max($0, request.time) - min($0, request.time) <= inFlight }) {
                    unheard.insert(request.facts.number)
                }
            }
        }
        return unheard
    }

    /// Finds requests that were sent again after GOAWAY or a broken connection although they had an answer.
    private static let processedAgain: Rule = { requests in
        var shown: [RecordedRequest] = []
        let unheard = mayBeUnheard(requests)
        for (_, attempts) in groups(requests.filter(\.isHTTP2), by: { $0.headers["apns-id"]?.lowercased() }) {
            guard
                let done = attempts.firstIndex(where: {
                    $0.isAnswered && $0.facts.status == 200 && !unheard.contains($0.facts.number)
                })
            else { continue }
            shown += attempts[(done + 1)...].filter { $0.content == attempts[done].content }
        }
        return finding(
            "processed-sent-again", .error, section: "2.3.3",
            advice:
                "After GOAWAY or a broken connection send again only what has no answer, and what is above the last "
                + "stream of the GOAWAY.", shown
        ) { "\($0) requests were sent again although they had been answered with 200." }
    }

    /// Finds requests that were not processed and never sent again.
    private static let lost: Rule = { requests in
        var shown: [RecordedRequest] = []
        for (_, attempts) in groups(requests, by: \.content) {
            if let last = attempts.last, !last.isAnswered, last.facts.outcome == .dropped { shown.append(last) }
        }
        return finding(
            "unprocessed-lost", .error, section: "2.3.3",
            advice:
                "Send again on another connection what a GOAWAY, a reset stream or a broken connection left without "
                + "an answer.", shown
        ) { "\($0) notifications were not processed, and were not sent again." }
    }

    private static let identical: Rule = { requests in
        let accepted = requests.filter { $0.isAnswered && $0.facts.status == 200 && !$0.isSignal }
        let unheard = mayBeUnheard(requests)
        var shown: [RecordedRequest] = []
        for (content, copies) in groups(accepted, by: \.content) where content.collapseID == nil {
            // A client sends a notification again if it has not heard the answer.
            guard let heard = copies.firstIndex(where: { !unheard.contains($0.facts.number) }) else { continue }
            // If the same identifier occurs twice, another rule reports it.
            var ids: Set<String> = []
            shown += copies[heard...].filter { ids.insert($0.facts.apnsID.description).inserted }.dropFirst()
        }
        return finding(
            "identical-notifications", .warning, section: "2.1.3",
            advice: "Send each notification once; give those that replace each other one apns-collapse-id.", shown
        ) { "\($0) notifications were identical to one that the same device token had been sent before." }
    }

    private static let reusedIDs: Rule = { requests in
        var shown: [RecordedRequest] = []
        for (_, requests) in groups(requests.filter(\.isHTTP2), by: { $0.headers["apns-id"]?.lowercased() }) {
            shown += requests.dropFirst().filter { $0.content != requests[0].content }
        }
        return finding(
            "apns-id-reused", .error, section: "2.3.4",
            advice: "Give each notification its own apns-id, or none.", shown
        ) { "\($0) requests had an apns-id that another notification had had." }
    }
}
