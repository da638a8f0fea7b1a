import NIOCore
import Testing

@testable import APNSProvider

/// What becomes of requests that no connection has. There is no network and no clock.
struct RequestQueueTests {
    private static let now = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    private static let trouble = ProviderError(.deadlineExceeded, "Nobody came.")

    private static func ticket(
        _ id: String,
        deadline: TimeAmount = .seconds(30),
        retries: Bool = true,
        waits: Bool = true,
        share: String? = nil,
        cancellation: Cancellation = Cancellation(),
    ) -> Ticket {
        var request = PushRequest(deviceToken: "00", topic: Sample.topic, payload: ByteBuffer())
        request.id = id
        return Ticket(
            request, deadline: now + deadline, retriesRejections: retries, waitsForConnection: waits, share: share,
            cancellation: cancellation, complete: { _ in nil })
    }

    /// A queue in which these requests wait for a connection.
    private static func queue(_ tickets: Ticket..., maximumCount: Int = 10) -> RequestQueue {
        var queue = RequestQueue(maximumCount: maximumCount)
        for ticket in tickets { #expect(described(queue.add(ticket)) == "wait") }
        return queue
    }

    private static func described(_ ending: RequestQueue.Ending) -> String {
        "\(ending.job.ticket.request.id ?? "") \(described(ending.answer))"
    }

    private static func described(_ answer: Ticket.Answer) -> String {
        switch answer {
        case .success(let answer): answer.reason ?? "\(answer.status)"
        case .failure(let error): "\(error.code)"
        }
    }

    private static func described(_ action: RequestQueue.AddAction) -> String {
        switch action {
        case .wait: "wait"
        case .waitInPlaceOf(let ending): "in place of \(described(ending))"
        case .finish(let ending): described(ending)
        }
    }

    private static func described(_ action: RequestQueue.RejectionAction) -> String {
        switch action {
        case .finish(let answer): described(answer)
        case .wait(let due): "wait \((due - now).nanoseconds / 1_000_000) ms"
        case .renewToken(let rejected): "instead of \(rejected ?? "none")"
        }
    }

    private static func described(_ action: RequestQueue.RefusalAction) -> String {
        switch action {
        case .finish(let answer): described(answer)
        case .sendElsewhere: "elsewhere"
        case .wait(let due): "wait \((due - now).nanoseconds / 1_000_000) ms"
        }
    }

    private static func take(_ queue: inout RequestQueue) throws -> Job {
        let job = queue.next()
        return try #require(job)
    }

    /// The identifiers of the requests that connections take now, in their order.
    private static func taken(_ queue: RequestQueue) -> [String?] {
        var queue = queue
        var ids: [String?] = []
        while let job = queue.next() { ids.append(job.ticket.request.id) }
        return ids
    }

    private static func rejected(
        _ queue: inout RequestQueue, _ job: Job, _ status: Int, _ reason: String?,
    ) -> String {
        let answer = PushAnswer(status: status, reason: reason)
        return described(queue.rejected(job, answer, answer.error, at: now, random: 1))
    }

    // MARK: In

    @Test func `Requests wait in their order, and one that was put back is the next`() throws {
        var queue = Self.queue(Self.ticket("1"), Self.ticket("2"))
        #expect(queue.needsConnection && !queue.isEmpty)
        let first = try Self.take(&queue)
        queue.putBack(first)
        #expect(Self.taken(queue) == ["1", "2"])
    }

    @Test func `A full queue refuses, unless a share has more than its part`() {
        var queue = Self.queue(Self.ticket("1", share: "a"), Self.ticket("2", share: "a"), maximumCount: 2)
        #expect(Self.described(queue.add(Self.ticket("3", share: "a"))) == "3 overloaded")
        #expect(Self.described(queue.add(Self.ticket("4", share: "b"))) == "in place of 2 overloaded")
        #expect(Self.taken(queue) == ["1", "4"])
    }

    @Test func `What waits for its next attempt counts too`() throws {
        var queue = Self.queue(Self.ticket("1"), maximumCount: 1)
        let job = try Self.take(&queue)
        #expect(Self.rejected(&queue, job, 503, "ServiceUnavailable") == "wait 800 ms")
        #expect(!queue.needsConnection && !queue.isEmpty)
        #expect(Self.described(queue.add(Self.ticket("2"))) == "2 overloaded")
    }

    @Test func `Nothing is taken of a cancelled call, or when the client shuts down`() {
        let cancellation = Cancellation()
        cancellation.cancel()
        var queue = Self.queue()
        #expect(Self.described(queue.add(Self.ticket("1", cancellation: cancellation))) == "1 cancelled")
        queue.beginShutDown(until: Self.now + .seconds(10))
        #expect(Self.described(queue.add(Self.ticket("2"))) == "2 shutDown")
    }

    // MARK: Requests that come back

    @Test func `A rejected request waits for its next attempt, and then for a connection`() throws {
        var queue = Self.queue(Self.ticket("1"), Self.ticket("2"))
        let job = try Self.take(&queue)
        #expect(Self.rejected(&queue, job, 429, "TooManyRequests") == "wait 800 ms")
        #expect(Self.taken(queue) == ["2"])
        var action = queue.tick(at: Self.now + .milliseconds(799), waitingFor: Self.trouble)
        #expect(action.endings.isEmpty && Self.taken(queue) == ["2"])
        action = queue.tick(at: Self.now + .milliseconds(800), waitingFor: Self.trouble)
        #expect(action.endings.isEmpty && Self.taken(queue) == ["2", "1"])
    }

    @Test func `A rejection that no repetition mends is the answer, and a page is an error`() throws {
        var queue = Self.queue(Self.ticket("1", retries: false))
        let job = try Self.take(&queue)
        #expect(Self.rejected(&queue, job, 400, "BadTopic") == "BadTopic")
        #expect(Self.rejected(&queue, job, 502, nil) == "unexpectedAnswer")
        #expect(queue.isEmpty)
    }

    @Test func `A request with an expired provider token waits for another one, once`() throws {
        var queue = Self.queue(Self.ticket("1"), Self.ticket("2"))
        var job = try Self.take(&queue)
        job.token = "bearer old"
        #expect(Self.rejected(&queue, job, 403, "ExpiredProviderToken") == "instead of bearer old")
        #expect(Self.taken(queue) == ["1", "2"])
        job = try Self.take(&queue)
        #expect(Self.rejected(&queue, job, 403, "ExpiredProviderToken") == "ExpiredProviderToken")
    }

    @Test func `Without a better provider token the rejection is the answer, and the others wait`() throws {
        var queue = Self.queue(Self.ticket("1"), Self.ticket("2"))
        let job = try Self.take(&queue)
        _ = Self.rejected(&queue, job, 403, "ExpiredProviderToken")
        #expect(queue.newTokenIsMissing().map(Self.described) == ["1 ExpiredProviderToken"])
        #expect(Self.taken(queue) == ["2"])
    }

    @Test func `Without any provider token all that wait for a connection end`() throws {
        var queue = Self.queue(Self.ticket("1"), Self.ticket("2"))
        let job = try Self.take(&queue)
        _ = Self.rejected(&queue, job, 429, "TooManyRequests")
        let error = ProviderError(.badCredentials, "The key is gone.")
        #expect(queue.tokenIsMissing(error).map(Self.described) == ["2 badCredentials"])
        #expect(!queue.isEmpty)
    }

    @Test func `What was not processed is sent elsewhere at once, or later`() throws {
        var queue = Self.queue(Self.ticket("1"), Self.ticket("2"))
        let (job, error) = (try Self.take(&queue), ProviderError(.gaveUp, "Go away."))
        func refused(_ isByGoAway: Bool, at now: NIODeadline = Self.now) -> String {
            Self.described(queue.refused(job, isByGoAway: isByGoAway, error, at: now, random: 1))
        }
        #expect(refused(true) == "elsewhere")
        #expect(Self.taken(queue) == ["1", "2"])
        #expect(refused(false) == "wait 800 ms")
        #expect(Self.taken(queue) == ["1", "2"])
        #expect(refused(true, at: Self.now + .seconds(30)) == "gaveUp")
    }

    // MARK: Requests that end without a connection

    @Test func `What was cancelled or given up ends, also if it waits for its next attempt`() throws {
        let cancellation = Cancellation()
        var queue = Self.queue(
            Self.ticket("1", share: "a", cancellation: cancellation), Self.ticket("2", share: "b"),
            Self.ticket("3", cancellation: cancellation), Self.ticket("4"))
        // Those without a share go first.
        let job = try Self.take(&queue)
        _ = Self.rejected(&queue, job, 429, "TooManyRequests")
        #expect(queue.callsCancelled().isEmpty)
        cancellation.cancel()
        #expect(queue.callsCancelled().map(Self.described) == ["1 cancelled", "3 cancelled"])
        #expect(queue.gaveUp(["b"]).map(Self.described) == ["2 cancelled"])
        #expect(Self.taken(queue) == ["4"])
    }

    @Test func `In an outage only what waits for its end stays`() {
        var queue = Self.queue(Self.ticket("1", waits: false), Self.ticket("2"))
        let error = ProviderError(.cannotConnect, "Nobody listens.")
        #expect(queue.becameUnreachable(error).map(Self.described) == ["1 cannotConnect"])
        #expect(Self.taken(queue) == ["2"])
    }

    @Test func `A request ends at its deadline with what it waited for`() throws {
        var queue = Self.queue(Self.ticket("1", deadline: .seconds(1)), Self.ticket("2", deadline: .seconds(1)))
        let job = try Self.take(&queue)
        _ = Self.rejected(&queue, job, 429, "TooManyRequests")
        _ = queue.tick(at: Self.now + .milliseconds(999), waitingFor: Self.trouble)
        let action = queue.tick(at: Self.now + .seconds(1), waitingFor: Self.trouble)
        #expect(action.endings.map(Self.described) == ["2 deadlineExceeded", "1 rejected"])
        #expect(!action.closesConnections && queue.isEmpty)
    }

    // MARK: The end

    @Test func `Shutting down lets requests end until its deadline, and sends none again`() throws {
        var queue = Self.queue(Self.ticket("1"), Self.ticket("2"))
        let job = try Self.take(&queue)
        queue.beginShutDown(until: Self.now + .seconds(10))
        #expect(Self.rejected(&queue, job, 429, "TooManyRequests") == "TooManyRequests")
        #expect(queue.tick(at: Self.now + .seconds(9), waitingFor: Self.trouble).endings.isEmpty)
        let action = queue.tick(at: Self.now + .seconds(10), waitingFor: Self.trouble)
        #expect(action.endings.map(Self.described) == ["2 shutDown"] && action.closesConnections)
    }

    @Test func `A client that was released ends everything`() throws {
        var queue = Self.queue(Self.ticket("1"), Self.ticket("2"))
        let job = try Self.take(&queue)
        _ = Self.rejected(&queue, job, 429, "TooManyRequests")
        #expect(queue.abandon().map(Self.described) == ["2 shutDown", "1 shutDown"])
        #expect(queue.isShuttingDown && queue.isEmpty)
    }

    // MARK: The timer

    @Test func `The timer is set again only for an earlier time`() {
        var queue = Self.queue()
        #expect(queue.lookAgain(by: Self.now + .seconds(2)) == .set(Self.now + .seconds(2)))
        #expect(queue.lookAgain(by: Self.now + .seconds(2)) == .keep)
        #expect(queue.lookAgain(by: Self.now + .seconds(1)) == .set(Self.now + .seconds(1)))
        _ = queue.tick(at: Self.now + .seconds(1), waitingFor: Self.trouble)
        #expect(queue.lookAgain(by: Self.now + .seconds(3)) == .set(Self.now + .seconds(3)))
    }

    @Test func `After a tick the timer runs for deadlines, next attempts and connections, and otherwise stops`() throws
    {
        func next(_ queue: RequestQueue, connections: TimeAmount? = nil, isBusy: Bool = false) -> TimeAmount? {
            var queue = queue
            let time = connections.map { Self.now + $0 } ?? .distantFuture
            guard case .set(let due) = queue.lookAgain(after: Self.now, connections: time, isBusy: isBusy) else {
                return nil
            }
            return due - Self.now
        }
        var queue = Self.queue(Self.ticket("1"))
        #expect(next(queue) == RequestQueue.tickInterval)
        let job = try Self.take(&queue)
        #expect(next(queue) == nil)
        #expect(next(queue, isBusy: true) == RequestQueue.tickInterval)
        #expect(next(queue, connections: .seconds(5)) == .seconds(5))
        #expect(next(queue, connections: .zero) == .milliseconds(1))
        let answer = PushAnswer(status: 429, reason: "TooManyRequests")
        _ = queue.rejected(job, answer, answer.error, at: Self.now - .milliseconds(790), random: 1)
        #expect(next(queue) == .milliseconds(10))
    }
}
