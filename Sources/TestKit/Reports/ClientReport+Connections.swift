import Matching
import Notifications

// Findings about the use of connections (Guide, 2.3.3).
extension ClientReport {
    static let connections: [Rule] = [
        connectionPerPush, manyConnections, filledTable, priorityFrames, misusedWindows, unchecked,
    ]

    /// With fewer connections there is no finding, because they prove nothing: a service may just have started, or a
    /// test sends one notification.
    private static let fewestConnections = 3
    /// If a client has more connections than this for few requests, it does not use the streams of a connection.
    private static let manyConnectionsAbove = 8
    private static let requestsPerConnection = 10

    /// The requests by their connections, without the connections on which a rehearsal has decided something: it may have
    /// ended them.
    private static func undisturbed(_ requests: [RecordedRequest]) -> [(key: UInt64, requests: [RecordedRequest])] {
        groups(requests, by: \.facts.connection).filter { !$0.requests.contains(where: \.isRehearsed) }
    }

    private static let connectionPerPush: Rule = { requests in
        let connections = undisturbed(requests)
        let single = connections.filter { $0.requests.count == 1 }
        guard single.count >= fewestConnections, single.count * 2 > connections.count else { return [] }
        return finding(
            "connection-per-push", .error, section: "2.3.3",
            advice: "Keep connections open and send many notifications over each; opening one for each notification "
                + "looks like an attack.", single.map { $0.requests[0] }
        ) { "\($0) of \(connections.count) connections carried one request only." }
    }

    private static let manyConnections: Rule = { requests in
        let connections = undisturbed(requests.filter(\.isHTTP2))
        let count = connections.reduce(0) { $0 + $1.requests.count }
        guard connections.count > manyConnectionsAbove, count < connections.count * requestsPerConnection,
            // If most connections have only one notification, another rule reports it.
            connections.count(where: { $0.requests.count == 1 }) * 2 <= connections.count
        else { return [] }
        return finding(
            "too-many-connections", .warning, section: "2.3.3",
            advice: "Send over the streams of one connection, and open another one only if its streams are all in use.",
            connections.map { $0.requests[0] }
        ) { "\(count) requests came over \($0) connections." }
    }

    private static let filledTable: Rule = { requests in
        finding(
            "hpack-table-filled", .note, section: "2.3.4.1",
            advice:
                "Send :path and authorization as literals without indexing, so that they do not push what comes again "
                + "out of the table.", requests.filter { $0.facts.practices.contains(.filledTable) }
        ) { "\($0) requests put their path or their provider token into the table of headers." }
    }

    private static let priorityFrames: Rule = { requests in
        let shown = requests.filter { $0.facts.practices.contains(.priorityFrames) }
        return finding(
            "priority-frames", .note, section: "2.3.3", advice: "Send no PRIORITY frames: APNs ignores them.",
            // Show one request of each connection.
            groups(shown, by: \.facts.connection).map { $0.requests[0] }
        ) { "\($0) connections had PRIORITY frames." }
    }

    private static let misusedWindows: Rule = { requests in
        let practices: Set<RequestFacts.Practice> = [.narrowWindow, .windowUpdates]
        let shown = requests.filter { !$0.facts.practices.isDisjoint(with: practices) }
        let isNarrow = shown.contains { $0.facts.practices.contains(.narrowWindow) }
        return finding(
            "windows-misused", isNarrow ? .warning : .note, section: "2.3.3",
            advice: isNarrow
                ? "Leave HTTP/2's initial window as it is: an answer with its reason has to fit into it."
                : "Send WINDOW_UPDATE when a good part of the window is used up, not for each frame.",
            // Show one request of each connection.
            groups(shown, by: \.facts.connection).map { $0.requests[0] }
        ) {
            isNarrow
                ? "\($0) connections had windows that have no room for an answer."
                : "\($0) connections had many more WINDOW_UPDATE frames than their answers need."
        }
    }

    private static let unchecked: Rule = { requests in
        finding(
            "idle-without-ping", .note, section: "2.3.3.1",
            advice: "Send PING on a connection that has been idle for an hour: if no answer comes, open another one.",
            requests.filter { $0.facts.practices.contains(.unchecked) }
        ) { "\($0) requests came on a connection that had been idle for long, without a PING." }
    }

    /// - Parameter count: how many connections ended without a request. They have no requests to show.
    static func unused(_ count: Int) -> [Finding] {
        guard count >= fewestConnections else { return [] }
        return [
            Finding(
                "connections-unused", .warning, section: "2.3.3", "\(count) connections ended without a request.",
                advice: "Open a connection when there is something to send, and keep it open.", [])
        ]
    }
}
