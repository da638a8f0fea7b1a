import CampaignStore
import Foundation
import Notifications
import Storage
import Testing

@Suite("Messages and outcomes in both stores") struct MessageContractTests {
    @Test(arguments: StoreKind.allCases)
    func `A message is read as it was stored, and listed from the newest to the oldest`(_ kind: StoreKind) async throws
    {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            var messages: [MessageRecord] = []
            for (index, state) in MessageRecord.State.allCases.enumerated() {
                var message = Sample.message("m\(index)", app: app, rate: index == 0 ? nil : Int64(index))
                message.state = state
                messages.append(try await store.add(message, idempotency: nil))
            }
            for message in messages { #expect(try await store.message(message.id) == message) }
            #expect(try await store.message("none") == nil)
            #expect(try await store.message("\0") == nil)
            let newest = try await store.messages(app: nil, before: nil, limit: 2)
            #expect(newest == [messages[4], messages[3]])
            let rest = try await store.messages(app: app, before: newest.last?.number, limit: 10)
            #expect(rest.map(\.id) == ["m2", "m1", "m0"])
            #expect(try await store.messages(app: app + 1, before: nil, limit: 10).isEmpty)
            let open = try await store.openMessages()
            #expect(open.map(\.state) == [.scheduled, .running])
            #expect(open.allSatisfy { $0.document.isEmpty && $0.starts == Sample.now && $0.app == app })
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `A repeated request adds no second message, and another request with its key is refused`(
        _ kind: StoreKind
    )
        async throws
    {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            let key = IdempotencyKey(name: "k", digest: [1])
            let first = try await store.add(Sample.message("m0", app: app), idempotency: key)
            #expect(try await store.add(Sample.message("m1", app: app), idempotency: key) == first)
            let error = await #expect(throws: StoreError.self) {
                _ = try await store.add(
                    Sample.message("m2", app: app), idempotency: IdempotencyKey(name: "k", digest: [2]))
            }
            #expect(error?.code == .conflict)
            #expect(try await store.message(app: app, idempotency: key) == first)
            #expect(try await store.message(app: app + 1, idempotency: key) == nil)
            #expect(
                try await store.message(app: app, idempotency: IdempotencyKey(name: "j", digest: [1])) == nil)
            let wrong = await #expect(throws: StoreError.self) {
                _ = try await store.message(app: app, idempotency: IdempotencyKey(name: "k", digest: [2]))
            }
            #expect(wrong?.code == .conflict)
            let other = try await store.put(Sample.app("com.example.other")).number
            #expect(try await store.add(Sample.message("m3", app: other), idempotency: key).id == "m3")
            #expect(try await store.messages(app: nil, before: nil, limit: 10).map(\.id) == ["m3", "m0"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `An app's open messages have a limit, which those that have ended do not count for`(
        _ kind: StoreKind
    )
        async throws
    {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            let other = try await store.put(Sample.app("com.example.other")).number
            func add(_ id: String, app: Int64, _ state: MessageRecord.State = .scheduled) async throws {
                var message = Sample.message(id, app: app)
                message.state = state
                _ = try await store.add(message, idempotency: IdempotencyKey(name: id, digest: [1]), limit: 2)
            }
            for (id, state) in [
                ("a", MessageRecord.State.finished), ("b", .cancelled), ("c", .running), ("d", .scheduled),
            ] {
                try await add(id, app: app, state)
            }
            let error = await #expect(throws: StoreError.self) { try await add("e", app: app) }
            #expect(error?.code == .conflict)
            // A repetition and another app's message are not refused.
            try await add("d", app: app)
            try await add("f", app: other)
            _ = try await store.changeMessage("c") { message in
                message.state = .finished
                return nil
            }
            try await add("e", app: app)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `The number of recipients stays the same while outcomes are stored`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            for index in 0..<20 { try await store.put(Sample.installation("i\(index)"), app: app) }
            let message = try await store.add(Sample.message("m", app: app), idempotency: nil)
            let numbers = try await store.numbers(app: app).values.sorted()
            let query = RecipientQuery(
                app: app, message: message.number, audience: Audience(), environment: .development)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for (index, number) in numbers.enumerated() {
                        let outcome =
                            index.isMultiple(of: 2)
                            ? Sample.accepted(number)
                            : SendOutcome(installation: number, status: 400, reason: "BadTopic", at: Sample.now)
                        _ = try await store.record(
                            [outcome], of: message, position: message.position, event: Sample.event)
                    }
                }
                var count: Int64 = 0
                repeat {
                    let recipients = try await store.recipientCount(of: message.number, waiting: [query])
                    #expect(recipients == 20)
                    count = try await store.message("m")?.tally.total ?? 20
                } while count < 20
                try await group.waitForAll()
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `A message that has ended is deleted with its outcomes, and found by its age`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            try await store.put(Sample.installation("a"), app: app)
            let number = try #require(try await store.numbers(app: app)["a"])
            var messages: [String: Int64] = [:]
            for (index, id) in ["open", "first", "cancelled", "last"].enumerated() {
                let message = try await store.add(Sample.message(id, app: app), idempotency: nil)
                messages[id] = message.number
                _ = try await store.record(
                    [Sample.accepted(number), SendOutcome(installation: 9, status: 400, reason: "x", at: Sample.now)],
                    of: message, position: message.position, event: Sample.event)
                _ = try await store.changeMessage(id) { message in
                    message.state = id == "open" ? .running : id == "cancelled" ? .cancelled : .finished
                    if message.state == .finished { message.finished = Sample.now.advanced(by: .seconds(Int64(index))) }
                    return nil
                }
            }
            let (open, first) = (try #require(messages["open"]), try #require(messages["first"]))
            let cancelled = try #require(messages["cancelled"])
            #expect(try await store.endedMessages(before: Sample.now, limit: 10) == [])
            let later = Sample.now.advanced(by: .seconds(2))
            #expect(try await store.endedMessages(before: later, limit: 10) == [first, cancelled])
            #expect(try await store.endedMessages(before: later, limit: 1) == [first])
            let error = await #expect(throws: StoreError.self) { try await store.deleteMessage(open) }
            #expect(error?.code == .conflict)
            for _ in 0..<2 { try await store.deleteMessage(first) }
            #expect(try await store.message("first") == nil)
            #expect(try await store.outcomes(of: first, .all, after: 0, limit: 10).isEmpty)
            for id in ["open", "cancelled", "last"] {
                #expect(try await store.message(id)?.tally.total == 2)
                let outcomes = try await store.outcomes(of: messages[id] ?? 0, .all, after: 0, limit: 10)
                #expect(outcomes.count == 2)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `A 410 of a device token that was replaced does not end the installation`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            try await store.put(Sample.installation("a", token: "0a0b"), app: app)
            let number = try #require(try await store.numbers(app: app)["a"])
            for (index, token) in ["0a", "0a0b"].enumerated() {
                let message = try await store.add(Sample.message("m\(index)", app: app), idempotency: nil)
                var outcome = Sample.ended(number, at: Sample.now)
                outcome.endedToken = token
                #expect(
                    try await store.record([outcome], of: message, position: message.position, event: Sample.event)
                        == index)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `The open events of one hook do not hide those of another`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            for bundleID in ["com.example.one", "com.example.two"] {
                let app = try await store.put(Sample.app(bundleID)).number
                try await store.add(Hook(id: bundleID, app: app, url: "https://x", sealedSecret: []), limit: 1)
                _ = try await store.add(Sample.message(bundleID, app: app), idempotency: nil)
                for number in 0..<(bundleID == "com.example.one" ? 5 : 1) {
                    _ = try await store.changeMessage(bundleID) { _ in
                        ProviderEvent(kind: "k", body: Array("\(number)".utf8))
                    }
                }
            }
            let open = try await store.openDeliveries(limit: 2)
            #expect(open.map(\.hook.id).sorted() == ["com.example.one", "com.example.one", "com.example.two"])
            #expect(open.allSatisfy { $0.event.body.isEmpty })
            for delivery in open { #expect(try await store.hold(delivery, for: .seconds(60))?.count == 1) }
        }
    }

    private struct Refused: Error {}

    @Test(arguments: StoreKind.allCases)
    func `A changed message is stored with its event, and a refused change changes nothing`(
        _ kind: StoreKind
    )
        async throws
    {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            for id in ["h0", "h1"] {
                try await store.add(Hook(id: id, app: app, url: "https://x", sealedSecret: [1]), limit: 2)
            }
            let message = try await store.add(Sample.message("m", app: app), idempotency: nil)
            let changed = try await store.changeMessage("m") { message in
                message.state = .finished
                message.finished = Sample.now
                message.rate = 5
                message.cause = "because"
                message.position.last = 9
                message.position.after = 4
                message.position.due = Sample.now
                message.position.environment = .production
                return ProviderEvent(kind: "message.finished", body: Array("{}".utf8))
            }
            #expect(changed?.number == message.number)
            #expect(try await store.message("m") == changed)
            await #expect(throws: Refused.self) {
                _ = try await store.changeMessage("m") { message in
                    message.state = .running
                    throw Refused()
                }
            }
            #expect(try await store.message("m") == changed)
            #expect(try await store.changeMessage("none") { _ in nil } == nil)
            let deliveries = try await store.openDeliveries(limit: 10)
            #expect(deliveries.map(\.hook.id).sorted() == ["h0", "h1"])
            #expect(deliveries.allSatisfy { $0.event.kind == "message.finished" && $0.attempts == 0 })
            #expect(Set(deliveries.map(\.id)).count == 2)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `An audience is found by every condition`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            let other = try await store.put(Sample.app("com.example.other")).number
            try await store.put(
                Sample.installation("a") {
                    $0.tags = ["news", "sv"]
                    $0.languages = ["pt-BR", "en"]
                    $0.user = "anna"
                    $0.timeZone = "Asia/Tokyo"
                }, app: app)
            try await store.put(
                Sample.installation("b") {
                    $0.tags = ["muted", "news", "sv"]
                    $0.languages = ["pt"]
                    $0.environment = .production
                }, app: app)
            try await store.put(
                Sample.installation("c") {
                    $0.tags = ["newsletter"]
                    $0.languages = ["ptx"]
                }, app: app)
            try await store.put(
                Sample.installation("d") { $0.end = Installation.End(at: Sample.now, reason: "x") }, app: app)
            try await store.put(Sample.installation("a") { $0.tags = ["news"] }, app: other)
            #expect(try await store.found(app) == ["a", "b", "c"])
            func expect(_ ids: [String], _ change: (inout Audience) -> Void) async throws {
                let found = try await store.found(app) { change(&$0.audience) }
                #expect(found == ids)
            }
            try await expect(["a"]) { $0.expression = try? AudienceExpression(tags: "(news && sv) && !muted") }
            try await expect(["a", "b", "c"]) { $0.expression = try? AudienceExpression(tags: "newsletter || sv") }
            try await expect(["a", "b"]) { $0.language = "pt" }
            try await expect(["a"]) { $0.users = ["anna", "none", "\0"] }
            try await expect(["b", "c"]) { $0.installations = ["c", "b", "d", "e"] }
            try await expect([]) { $0.installations = [] }
            try await expect(["b"]) { $0.environment = .production }
            #expect(try await store.found(app) { $0.environment = .development } == ["a", "c"])
            #expect(try await store.found(app) { $0.timeZones = ["GMT"] } == ["b", "c"])
            let numbers = try await store.numbers(app: app)
            #expect(try await store.found(app) { $0.after = numbers["a"] ?? 0 } == ["b", "c"])
            #expect(try await store.found(app) { $0.last = numbers["b"] ?? 0 } == ["a", "b"])
            #expect(Set(try await store.timeZones(app: app)) == ["Asia/Tokyo", "GMT"])
            let page = RecipientQuery(app: app, message: 0, audience: Audience())
            #expect(try await store.recipients(page, limit: 2).map(\.installation.id) == ["a", "b"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `An audience finds a language in each spelling, by its member and by an expression`(
        _ kind: StoreKind
    ) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            for (id, languages) in [("a", ["pt_BR", "en"]), ("b", ["PT-br"]), ("c", ["ptx", "pt"]), ("d", ["iw_IL"])] {
                try await store.put(Sample.installation(id) { $0.languages = languages }, app: app)
            }
            let first = [
                ("pt", ["a", "b"]), ("pt-br", ["a", "b"]), ("pt_br", ["a", "b"]), ("he-il", ["d"]), ("en", []),
            ]
            for (language, ids) in first {
                #expect(try await store.found(app) { $0.audience.language = language } == ids, "\(language)")
            }
            let any = [
                ("pt", ["a", "b", "c"]), ("pt-BR", ["a", "b"]), ("pt_BR", ["a", "b"]), ("he", ["d"]), ("en", ["a"]),
            ]
            for (language, ids) in any {
                let expression = try AudienceExpression("language = \(language)", services: []) { _ in nil }
                #expect(try await store.found(app) { $0.audience.expression = expression } == ids, "\(language)")
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `An outcome is counted once, and its recipient is found no more`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            for id in ["a", "b", "c"] { try await store.put(Sample.installation(id), app: app) }
            let numbers = try await store.numbers(app: app)
            let (a, b) = (try #require(numbers["a"]), try #require(numbers["b"]))
            let message = try await store.add(Sample.message("m", app: app), idempotency: nil)
            let failed = SendOutcome(installation: b, status: 400, reason: "BadTopic", at: Sample.now)
            var position = message.position
            position.after = a
            for _ in 0..<2 {
                #expect(
                    try await store.record(
                        [Sample.accepted(a), failed], of: message, position: position, event: Sample.event) == 0)
            }
            // The first outcome stays.
            _ = try await store.record([Sample.accepted(b)], of: message, position: position, event: Sample.event)
            let stored = try #require(try await store.message("m"))
            #expect(stored.tally.accepted == 1 && stored.tally.failed == ["BadTopic": 1])
            #expect(stored.position.after == a)
            #expect(try await store.found(app, message: message.number) == ["c"])
            #expect(try await store.found(app, message: message.number + 1) == ["a", "b", "c"])
            _ = try await store.changeInstallation("b", app: app) { _ in .delete }
            let outcomes = try await store.outcomes(of: message.number, .all, after: 0, limit: 10)
            #expect(
                outcomes == [
                    KeptOutcome(Sample.accepted(a), installation: "a"), KeptOutcome(failed, installation: nil),
                ])
            #expect(
                try await store.outcomes(of: message.number, .reason("BadTopic"), after: 0, limit: 10).map(\.outcome)
                    == [failed])
            #expect(
                try await store.outcomes(of: message.number, .all, after: a, limit: 1).map(\.outcome) == [failed]
            )
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `A 410 ends an installation unless it was registered again since`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            try await store.add(Hook(id: "h", app: app, url: "https://x", sealedSecret: []), limit: 1)
            let later = Sample.now.advanced(by: .seconds(1))
            for id in ["a", "b"] { try await store.put(Sample.installation(id), app: app) }
            try await store.put(Sample.installation("c") { $0.registered = later }, app: app)
            let numbers = try await store.numbers(app: app)
            let message = try await store.add(Sample.message("m", app: app), idempotency: nil)
            let outcomes = numbers.values.sorted().map { Sample.ended($0, at: Sample.now) }
            for count in [2, 0] {
                #expect(
                    try await store.record(
                        outcomes, of: message, position: message.position, event: Sample.event) == count)
            }
            let ends: [(id: String, reason: String?)] = [("a", "Unregistered"), ("b", "Unregistered"), ("c", nil)]
            for (id, reason) in ends {
                let end = try await store.installation(id, app: app)?.installation.end
                #expect(end?.reason == reason && end?.at == (reason == nil ? nil : Sample.now))
            }
            #expect(try await store.openEvents() == ["a,b"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `Hooks have a limit, and a delivery stays open until it arrived`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            try await store.add(Hook(id: "h", app: app, url: "https://x", sealedSecret: [1, 2]), limit: 1)
            let error = await #expect(throws: StoreError.self) {
                try await store.add(Hook(id: "h2", app: app, url: "https://x", sealedSecret: []), limit: 1)
            }
            #expect(error?.code == .conflict)
            #expect(try await store.hooks(app: app).map(\.sealedSecret) == [[1, 2]])
            _ = try await store.add(Sample.message("m", app: app), idempotency: nil)
            for kind in ["first", "second"] {
                _ = try await store.changeMessage("m") { _ in ProviderEvent(kind: kind, body: []) }
            }
            var delivery = try #require(
                try await store.openDeliveries(limit: 10).first { $0.event.kind == "first" })
            #expect(try await store.hold(delivery, for: .seconds(60)) == [])
            delivery.attempts = 1
            delivery.status = 500
            delivery.cause = "no"
            delivery.next = delivery.next?.advanced(by: .seconds(100))
            try await store.record(delivery)
            #expect(try await store.openDeliveries(limit: 10).map(\.event.kind) == ["second", "first"])
            #expect(try await store.openDeliveries(limit: 1).map(\.event.kind) == ["second"])
            delivery.attempts = 2
            delivery.next = nil
            delivery.cause = nil
            try await store.record(delivery)
            #expect(try await store.openDeliveries(limit: 10).map(\.event.kind) == ["second"])
            let listed = try await store.deliveries(hook: "h", app: app, before: nil, limit: 10)
            #expect(listed.map(\.event.kind) == ["second", "first"])
            #expect(listed.last == delivery)
            #expect(try await store.deliveries(hook: "h", app: app + 1, before: nil, limit: 10).isEmpty)
            #expect(try await store.deleteHook("h", app: app + 1) == false)
            #expect(try await store.deleteHook("h", app: app))
            #expect(try await store.openDeliveries(limit: 10).isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `A server holds a message that is open, and no other`(_ kind: StoreKind) async throws {
        try await kind.with { store in
            let app = try await store.put(Sample.app()).number
            let message = try await store.add(Sample.message("m", app: app, rate: 7), idempotency: nil)
            for _ in 0..<2 { #expect(try await store.hold(message.number, for: .seconds(60)) == MessageHold(rate: 7)) }
            #expect(try await store.openMessages().map(\.id) == ["m"])
            _ = try await store.changeMessage("m") { message in
                message.state = .paused
                return nil
            }
            #expect(try await store.hold(message.number, for: .seconds(60)) == nil)
            #expect(try await store.hold(message.number + 1, for: .seconds(60)) == nil)
            try await store.release(message.number)
            #expect(await store.trouble() == nil)
        }
    }
}
