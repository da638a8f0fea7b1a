import Delivery
import Notifications
import Storage
import Testing

extension StoreContract {
    static let registrationPromises: [Promise] = [
        Promise("before the first registration there is none", neverRegistered),
        Promise("the first registration is active and has generation 1", firstRegistration),
        Promise("a revoked device cannot register, not even its first app", revokedRegistersNothing),
        Promise("registering an active app again changes nothing", registeringAgain),
        Promise("an ended registration keeps its token, with the time of its end", ends),
        Promise("ending a registration again does no harm", endingAgain),
        Promise("ending a registration that does not exist returns nil", endsNothing),
        Promise("ending a registration empties its mailbox and no other", endEmptiesMailbox),
        Promise("registering after the end gives the same token again", reactivates),
        Promise("renewed tokens have the next generation and are inactive", renews),
        Promise("renewing does not change since when an inactive token is inactive", renewsInactive),
        Promise("renewing empties the device's mailboxes and no others", renewalEmptiesMailboxes),
        Promise("registering after renewal activates the new generation", registersAfterRenewal),
        Promise("renewing a device without registrations is harmless", renewsNothing),
        Promise("readers never see only some of the renewed tokens", renewsAllAtOnce),
        Promise(
            "an app that registered again is on no list, in whichever order attempts and registrations happen",
            notesWhileRegistering),
        Promise("look-ups are answered in their order", lookUpKeepsOrder),
        Promise("an immediate answer equals the answer of a look-up", knownIsTrue),
        Promise("a device's registrations include those that have ended", registrationsOfDevice),
        Promise("the environments share no registrations", environmentsAreApart),
        Promise("of many registrations all are found", manyRegistrations),
    ]

    /// The registration as the look-up returns it. If the store's memory has it too, both must agree.
    private static func registration(
        _ destination: Destination = Samples.destination(),
        in ports: Ports,
    ) async throws -> Registration? {
        let answers = try await ports.registrations.lookUp([destination])
        #expect(answers.count == 1)
        return answers.first ?? nil
    }

    private static func first(_ moment: Timestamp = Samples.moment, tokenKeyID: UInt32 = 7) -> Registration {
        Registration(generation: 1, tokenKeyID: tokenKeyID, tokenSince: moment, isActive: true, changed: moment)
    }

    @Sendable
    private static func revokedRegistersNothing(_ ports: Ports) async throws {
        let destination = Samples.destination()
        async let revoking = ports.accounts.apply(.revokeDevice(destination.deviceKey, at: Samples.moment))
        // In whichever order the two are written, no registration is left afterwards.
        async let registering = try? ports.registrations.register(destination, tokenKeyID: 1, at: Samples.moment)
        _ = try await revoking
        for app in try await ports.registrations.registrations(of: destination.deviceKey).keys {
            _ = try await ports.registrations.end(Samples.destination(app: app.rawValue), at: Samples.later)
        }
        _ = await registering
        let left = try await ports.registrations.registrations(of: destination.deviceKey)
        #expect(left.values.allSatisfy { !$0.isActive })
        await expectFailure(.revoked) {
            _ = try await ports.registrations.register(destination, tokenKeyID: 1, at: Samples.later)
        }
    }

    @Sendable
    private static func neverRegistered(_ ports: Ports) async throws {
        #expect(try await registration(in: ports) == nil)
        #expect(try await ports.registrations.registrations(of: Samples.device).isEmpty)
    }

    @Sendable
    private static func firstRegistration(_ ports: Ports) async throws {
        let answer = try await ports.registrations.register(Samples.destination(), tokenKeyID: 7, at: Samples.moment)
        #expect(answer == first())
        #expect(try await registration(in: ports) == first())
    }

    @Sendable
    private static func registeringAgain(_ ports: Ports) async throws {
        _ = try await ports.registrations.register(Samples.destination(), tokenKeyID: 7, at: Samples.moment)
        let answer = try await ports.registrations.register(Samples.destination(), tokenKeyID: 8, at: Samples.later)
        #expect(answer == first())
        #expect(try await registration(in: ports) == first())
    }

    @Sendable
    private static func ends(_ ports: Ports) async throws {
        _ = try await ports.registrations.register(Samples.destination(), tokenKeyID: 7, at: Samples.moment)
        var ended = first()
        ended.isActive = false
        ended.changed = Samples.later
        #expect(try await ports.registrations.end(Samples.destination(), at: Samples.later) == ended)
        #expect(try await registration(in: ports) == ended)
    }

    @Sendable
    private static func endingAgain(_ ports: Ports) async throws {
        _ = try await ports.registrations.register(Samples.destination(), tokenKeyID: 7, at: Samples.moment)
        let ended = try await ports.registrations.end(Samples.destination(), at: Samples.later)
        #expect(try await ports.registrations.end(Samples.destination(), at: Samples.muchLater) == ended)
    }

    @Sendable
    private static func endsNothing(_ ports: Ports) async throws {
        #expect(try await ports.registrations.end(Samples.destination(), at: Samples.moment) == nil)
        #expect(try await registration(in: ports) == nil)
    }

    @Sendable
    private static func endEmptiesMailbox(_ ports: Ports) async throws {
        let (ended, kept) = (Samples.destination(app: 1), Samples.destination(app: 2))
        for destination in [ended, kept] {
            _ = try await ports.registrations.register(destination, tokenKeyID: 7, at: Samples.moment)
            _ = await ports.mailboxes.store([Samples.entry(destination)])
        }
        _ = try await ports.registrations.end(ended, at: Samples.later)
        #expect(try await ports.mailboxes.entries(of: Samples.device).map(\.entry.destination) == [kept])
    }

    @Sendable
    private static func reactivates(_ ports: Ports) async throws {
        _ = try await ports.registrations.register(Samples.destination(), tokenKeyID: 7, at: Samples.moment)
        _ = try await ports.registrations.end(Samples.destination(), at: Samples.later)
        let answer = try await ports.registrations.register(Samples.destination(), tokenKeyID: 8, at: Samples.muchLater)
        var expected = first()
        expected.changed = Samples.muchLater
        #expect(answer == expected)
        #expect(try await registration(in: ports) == expected)
    }

    // MARK: Renewing

    @Sendable
    private static func renews(_ ports: Ports) async throws {
        for app in 1...3 as ClosedRange<UInt32> {
            _ = try await ports.registrations.register(
                Samples.destination(app: app),
                tokenKeyID: 7,
                at: Samples.moment,
            )
        }
        try await ports.registrations.renewTokens(of: Samples.device, tokenKeyID: 8, at: Samples.later)
        let renewed = Registration(
            generation: 2,
            tokenKeyID: 8,
            tokenSince: Samples.later,
            isActive: false,
            changed: Samples.later,
        )
        for app in 1...3 as ClosedRange<UInt32> {
            #expect(try await registration(Samples.destination(app: app), in: ports) == renewed)
        }
    }

    @Sendable
    private static func renewsInactive(_ ports: Ports) async throws {
        _ = try await ports.registrations.register(Samples.destination(), tokenKeyID: 7, at: Samples.moment)
        _ = try await ports.registrations.end(Samples.destination(), at: Samples.later)
        try await ports.registrations.renewTokens(of: Samples.device, tokenKeyID: 8, at: Samples.muchLater)
        let renewed = try #require(try await registration(in: ports))
        #expect(renewed.generation == 2)
        #expect(!renewed.isActive)
        #expect(renewed.changed == Samples.later)
    }

    @Sendable
    private static func renewalEmptiesMailboxes(_ ports: Ports) async throws {
        let destinations = [
            Samples.destination(app: 1), Samples.destination(app: 2), Samples.destination(Samples.otherDevice),
            Samples.destination(Samples.twin),
        ]
        for destination in destinations {
            _ = try await ports.registrations.register(destination, tokenKeyID: 7, at: Samples.moment)
        }
        _ = await ports.mailboxes.store(destinations.map { Samples.entry($0) })
        try await ports.registrations.renewTokens(of: Samples.device, tokenKeyID: 8, at: Samples.later)
        #expect(try await ports.mailboxes.entries(of: Samples.device).isEmpty)
        #expect(try await ports.mailboxes.entries(of: Samples.otherDevice).count == 1)
        #expect(try await ports.mailboxes.entries(of: Samples.twin).count == 1)
    }

    @Sendable
    private static func registersAfterRenewal(_ ports: Ports) async throws {
        _ = try await ports.registrations.register(Samples.destination(), tokenKeyID: 7, at: Samples.moment)
        try await ports.registrations.renewTokens(of: Samples.device, tokenKeyID: 8, at: Samples.later)
        let answer = try await ports.registrations.register(Samples.destination(), tokenKeyID: 9, at: Samples.muchLater)
        let expected = Registration(
            generation: 2,
            tokenKeyID: 8,
            tokenSince: Samples.later,
            isActive: true,
            changed: Samples.muchLater,
        )
        #expect(answer == expected)
    }

    @Sendable
    private static func renewsNothing(_ ports: Ports) async throws {
        try await ports.registrations.renewTokens(of: Samples.device, tokenKeyID: 8, at: Samples.moment)
        #expect(try await ports.registrations.registrations(of: Samples.device).isEmpty)
    }

    @Sendable
    private static func renewsAllAtOnce(_ ports: Ports) async throws {
        for app in 1...8 as ClosedRange<UInt32> {
            _ = try await ports.registrations.register(
                Samples.destination(app: app), tokenKeyID: 7, at: Samples.moment)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for _ in 0..<20 {
                    try await ports.registrations.renewTokens(of: Samples.device, tokenKeyID: 8, at: Samples.later)
                }
            }
            group.addTask {
                for _ in 0..<200 {
                    let seen = try await ports.registrations.registrations(of: Samples.device).values
                    #expect(seen.count == 8)
                    #expect(Set(seen.map(\.generation)).count == 1)
                }
            }
            try await group.waitForAll()
        }
    }

    @Sendable
    private static func notesWhileRegistering(_ ports: Ports) async throws {
        let list = FeedbackList(environment: .production, app: Samples.destination().app)
        for _ in 0..<20 {
            _ = try await ports.registrations.register(Samples.destination(), tokenKeyID: 1, at: Samples.moment)
            _ = try await ports.registrations.end(Samples.destination(), at: Samples.later)
            let entry = FeedbackEntry(
                destination: Samples.destination(), generation: 1, token: DeviceToken(bytes: SIMD32(repeating: 1)),
                moment: Samples.later)
            async let recording: Void = ports.feedback.record([entry])
            _ = try await ports.registrations.register(Samples.destination(), tokenKeyID: 1, at: Samples.muchLater)
            try await recording
            #expect(try await ports.feedback.entries(of: list, after: nil, limit: 10).isEmpty)
        }
    }

    // MARK: Asking

    @Sendable
    private static func lookUpKeepsOrder(_ ports: Ports) async throws {
        for (app, keyID) in [(1, 11), (3, 33)] as [(UInt32, UInt32)] {
            _ = try await ports.registrations.register(
                Samples.destination(app: app),
                tokenKeyID: keyID,
                at: Samples.moment,
            )
        }
        let asked = [3, 2, 1, 3].map { Samples.destination(app: $0) }
        let answers = try await ports.registrations.lookUp(asked)
        #expect(answers.map { $0?.tokenKeyID } == [33, nil, 11, 33])
        #expect(try await ports.registrations.lookUp([]).isEmpty)
    }

    @Sendable
    private static func knownIsTrue(_ ports: Ports) async throws {
        let destination = Samples.destination()
        func agrees() async throws {
            let registration = try await registration(destination, in: ports)
            // A store may not know the answer at once, but must not give a wrong one.
            switch ports.registrations.knownRegistration(of: destination) {
            case .registered(let known): #expect(known == registration)
            case .neverRegistered: #expect(registration == nil)
            case nil: break
            }
        }
        try await agrees()
        _ = try await ports.registrations.register(destination, tokenKeyID: 7, at: Samples.moment)
        try await agrees()
        _ = try await ports.registrations.end(destination, at: Samples.later)
        try await agrees()
        try await ports.registrations.renewTokens(of: Samples.device, tokenKeyID: 8, at: Samples.muchLater)
        try await agrees()
    }

    @Sendable
    private static func registrationsOfDevice(_ ports: Ports) async throws {
        for device in [Samples.device, Samples.otherDevice, Samples.twin] {
            _ = try await ports.registrations.register(Samples.destination(device), tokenKeyID: 7, at: Samples.moment)
        }
        let second = Samples.destination(app: 2)
        _ = try await ports.registrations.register(second, tokenKeyID: 7, at: Samples.moment)
        let ended = try await ports.registrations.end(second, at: Samples.later)
        let registrations = try await ports.registrations.registrations(of: Samples.device)
        #expect(registrations == [AppID(rawValue: 1): first(), AppID(rawValue: 2): try #require(ended)])
    }

    @Sendable
    private static func environmentsAreApart(_ ports: Ports) async throws {
        let (here, there) = (Samples.destination(Samples.device), Samples.destination(Samples.twin))
        _ = try await ports.registrations.register(here, tokenKeyID: 7, at: Samples.moment)
        #expect(try await registration(there, in: ports) == nil)
        _ = try await ports.registrations.register(there, tokenKeyID: 9, at: Samples.moment)
        _ = try await ports.registrations.end(there, at: Samples.later)
        #expect(try await registration(here, in: ports) == first())
    }

    @Sendable
    private static func manyRegistrations(_ ports: Ports) async throws {
        let destinations = (1...500 as ClosedRange<UInt64>).map { number in
            let device = DeviceKey(environment: .production, device: DeviceID(rawValue: number / 2))
            return Samples.destination(device, app: UInt32(number % 2))
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, destination) in destinations.enumerated() {
                group.addTask {
                    _ = try await ports.registrations.register(
                        destination,
                        tokenKeyID: UInt32(index),
                        at: Samples.moment,
                    )
                }
            }
            try await group.waitForAll()
        }
        let answers = try await ports.registrations.lookUp(destinations)
        #expect(answers == destinations.indices.map { first(tokenKeyID: UInt32($0)) })
    }
}
