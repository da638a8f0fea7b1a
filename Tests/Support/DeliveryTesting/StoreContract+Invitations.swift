import Delivery
import Notifications
import Testing

extension StoreContract {
    static let invitationPromises: [Promise] = [
        Promise("an invitation admits one device", usedOnce),
        Promise("of many that use the same invitation, one is admitted", usedByOne),
        Promise("an invitation is valid in one environment", invitesToEnvironment),
        Promise("an invitation expires", runsOut),
        Promise("an invitation that was used is answered again, for the same key alone", answersAgain),
        Promise("of many that use the same invitation with one key, all get the same activation", answersAllAlike),
        Promise("what an invitation was used for is forgotten when it would have expired", forgetsUse),
        Promise("checking an invitation does not use it up", askingUsesNothing),
        Promise("an invitation is found until it is used or expires", findsOne),
        Promise("unused invitations are listed in the order of their digests, in pages", listsInvitations),
        Promise("a withdrawn invitation admits nobody, and is returned once", withdraws),
        Promise("of many that use and withdraw the same invitation, one succeeds", usedOrWithdrawn),
        Promise("an invitation that expired or was used cannot be withdrawn", withdrawsNothing),
    ]

    private static let digest = [UInt8](repeating: 7, count: 32)

    private static func invite(_ ports: Ports) async throws {
        try await ports.invitations.invite(
            Invitation(digest: digest, environment: .production, expires: Samples.later), at: Samples.moment)
    }

    private static func activation(_ number: UInt64, key: UInt8 = 1) -> Activation {
        Activation(
            key: [UInt8](repeating: key, count: 32), device: DeviceID(rawValue: number),
            chain: "certificate \(number)\n")
    }

    /// Uses an invitation for a key of its own.
    /// - Returns: whether this call has used it.
    private static func use(
        _ ports: Ports,
        _ digest: [UInt8],
        to environment: Environment,
        at moment: Timestamp,
    ) async throws -> Bool {
        let own = Activation(
            key: (0..<32).map { _ in .random(in: 0...255) }, device: DeviceID(rawValue: .random(in: 0 ... .max)),
            chain: "c")
        let used = try await ports.invitations.useInvitation(digest, to: environment, for: own, at: moment)
        #expect(used == nil || used == own)
        return used != nil
    }

    @Sendable
    private static func answersAgain(_ ports: Ports) async throws {
        try await invite(ports)
        let first = activation(1 << 63)
        func use(_ activation: Activation, _ environment: Environment = .production) async throws -> Activation? {
            try await ports.invitations.useInvitation(digest, to: environment, for: activation, at: Samples.moment)
        }
        func found(_ environment: Environment = .production) async throws -> Activation? {
            try await ports.invitations.activation(of: digest, to: environment, at: Samples.moment)
        }
        #expect(try await found() == nil)
        #expect(try await use(first) == first)
        #expect(try await found() == first)
        #expect(try await found(.development) == nil)
        // Another request with the same key was signed a second time; the first certificate counts.
        #expect(try await use(activation(2)) == first)
        #expect(try await use(activation(3, key: 2)) == nil)
        #expect(try await use(activation(4), .development) == nil)
        #expect(try await ports.invitations.withdrawInvitation(digest, at: Samples.moment) == nil)
        #expect(try await ports.invitations.invitations(after: nil, limit: 10, at: Samples.moment).isEmpty)
    }

    @Sendable
    private static func answersAllAlike(_ ports: Ports) async throws {
        try await invite(ports)
        let answers = try await withThrowingTaskGroup(of: Activation?.self) { group in
            for number in 1...10 as ClosedRange<UInt64> {
                group.addTask {
                    try await ports.invitations.useInvitation(
                        digest, to: .production, for: activation(number), at: Samples.moment)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let found = try await ports.invitations.activation(of: digest, to: .production, at: Samples.moment)
        #expect(found != nil && answers.allSatisfy { $0 == found })
    }

    @Sendable
    private static func forgetsUse(_ ports: Ports) async throws {
        try await invite(ports)
        let own = activation(1)
        #expect(
            try await ports.invitations.useInvitation(digest, to: .production, for: own, at: Samples.moment) == own)
        #expect(try await ports.invitations.activation(of: digest, to: .production, at: Samples.later) == nil)
        #expect(
            try await ports.invitations.useInvitation(digest, to: .production, for: own, at: Samples.later) == nil)
    }

    @Sendable
    private static func usedOnce(_ ports: Ports) async throws {
        try await invite(ports)
        #expect(try await use(ports, digest, to: .production, at: Samples.moment))
        #expect(try await !use(ports, digest, to: .production, at: Samples.moment))
        #expect(try await !ports.invitations.isInvited(digest, to: .production, at: Samples.moment))
    }

    @Sendable
    private static func usedByOne(_ ports: Ports) async throws {
        try await invite(ports)
        let used = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<10 {
                group.addTask {
                    try await use(ports, digest, to: .production, at: Samples.moment)
                }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(used == 1)
    }

    @Sendable
    private static func invitesToEnvironment(_ ports: Ports) async throws {
        try await invite(ports)
        #expect(try await !ports.invitations.isInvited(digest, to: .development, at: Samples.moment))
        #expect(try await !use(ports, digest, to: .development, at: Samples.moment))
        #expect(try await ports.invitations.isInvited(digest, to: .production, at: Samples.moment))
    }

    @Sendable
    private static func runsOut(_ ports: Ports) async throws {
        try await invite(ports)
        #expect(try await !ports.invitations.isInvited(digest, to: .production, at: Samples.later))
        #expect(try await !use(ports, digest, to: .production, at: Samples.later))
    }

    @Sendable
    private static func askingUsesNothing(_ ports: Ports) async throws {
        try await invite(ports)
        for _ in 0..<2 {
            #expect(try await ports.invitations.isInvited(digest, to: .production, at: Samples.moment))
        }
    }
    // MARK: Listing and withdrawing

    /// The first bytes of the digests, as unsigned numbers in their order.
    private static let firstBytes: [UInt8] = [0, 1, 0x7f, 0x80, 0xff]

    private static func invitation(_ first: UInt8, expires: Timestamp = Samples.later) -> Invitation {
        Invitation(
            digest: [first] + [UInt8](repeating: 0, count: 31),
            environment: first.isMultiple(of: 2) ? .production : .development, expires: expires)
    }

    @Sendable
    private static func findsOne(_ ports: Ports) async throws {
        let (one, other) = (invitation(0), invitation(1))
        for invitation in [one, other] { try await ports.invitations.invite(invitation, at: Samples.moment) }
        #expect(try await ports.invitations.invitation(one.digest, at: Samples.moment) == one)
        #expect(try await ports.invitations.invitation(other.digest, at: Samples.moment) == other)
        #expect(try await ports.invitations.invitation(digest, at: Samples.moment) == nil)
        #expect(try await ports.invitations.invitation(one.digest, at: Samples.later) == nil)
        #expect(try await use(ports, one.digest, to: .production, at: Samples.moment))
        #expect(try await ports.invitations.invitation(one.digest, at: Samples.moment) == nil)
    }

    @Sendable
    private static func listsInvitations(_ ports: Ports) async throws {
        let all = firstBytes.map { invitation($0) }
        // Neither in their order nor in the reverse one.
        for invitation in all[2...] + all[..<2] { try await ports.invitations.invite(invitation, at: Samples.moment) }
        for limit in 1...all.count + 1 {
            var listed: [Invitation] = []
            while true {
                let page = try await ports.invitations.invitations(
                    after: listed.last?.digest, limit: limit, at: Samples.moment)
                listed += page
                guard page.count == limit else { break }
            }
            #expect(listed == all)
        }
        // Begin after a digest that no invitation has.
        let rest = try await ports.invitations.invitations(
            after: invitation(0x70).digest, limit: 2, at: Samples.moment)
        #expect(rest == Array(all[2...3]))
        #expect(try await use(ports, all[0].digest, to: .production, at: Samples.moment))
        #expect(
            try await ports.invitations.invitations(after: nil, limit: 10, at: Samples.moment)
                == Array(all.dropFirst()))
        #expect(try await ports.invitations.invitations(after: nil, limit: 10, at: Samples.later).isEmpty)
    }

    @Sendable
    private static func withdraws(_ ports: Ports) async throws {
        let (one, other) = (invitation(0), invitation(2))
        for invitation in [one, other] { try await ports.invitations.invite(invitation, at: Samples.moment) }
        #expect(try await ports.invitations.withdrawInvitation(one.digest, at: Samples.moment) == one)
        #expect(try await ports.invitations.withdrawInvitation(one.digest, at: Samples.moment) == nil)
        #expect(try await !ports.invitations.isInvited(one.digest, to: .production, at: Samples.moment))
        #expect(try await !use(ports, one.digest, to: .production, at: Samples.moment))
        #expect(try await ports.invitations.invitations(after: nil, limit: 10, at: Samples.moment) == [other])
        #expect(try await use(ports, other.digest, to: .production, at: Samples.moment))
    }

    @Sendable
    private static func usedOrWithdrawn(_ ports: Ports) async throws {
        try await invite(ports)
        let succeeded = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<5 {
                group.addTask {
                    try await use(ports, digest, to: .production, at: Samples.moment)
                }
                group.addTask {
                    try await ports.invitations.withdrawInvitation(digest, at: Samples.moment) != nil
                }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(succeeded == 1)
    }

    @Sendable
    private static func withdrawsNothing(_ ports: Ports) async throws {
        try await invite(ports)
        #expect(try await ports.invitations.withdrawInvitation(digest, at: Samples.later) == nil)
        #expect(try await use(ports, digest, to: .production, at: Samples.moment))
        #expect(try await ports.invitations.withdrawInvitation(digest, at: Samples.moment) == nil)
    }
}
