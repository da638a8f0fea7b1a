import Delivery
import Notifications
import Testing

extension StoreContract {
    static let invitationPromises: [Promise] = [
        Promise("an invitation admits one device", usedOnce),
        Promise("of many that use the same invitation, one is admitted", usedByOne),
        Promise("an invitation is valid in one environment", invitesToEnvironment),
        Promise("an invitation expires", runsOut),
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

    @Sendable
    private static func usedOnce(_ ports: Ports) async throws {
        try await invite(ports)
        #expect(try await ports.invitations.useInvitation(digest, to: .production, at: Samples.moment))
        #expect(try await !ports.invitations.useInvitation(digest, to: .production, at: Samples.moment))
        #expect(try await !ports.invitations.isInvited(digest, to: .production, at: Samples.moment))
    }

    @Sendable
    private static func usedByOne(_ ports: Ports) async throws {
        try await invite(ports)
        let used = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<10 {
                group.addTask {
                    try await ports.invitations.useInvitation(digest, to: .production, at: Samples.moment)
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
        #expect(try await !ports.invitations.useInvitation(digest, to: .development, at: Samples.moment))
        #expect(try await ports.invitations.isInvited(digest, to: .production, at: Samples.moment))
    }

    @Sendable
    private static func runsOut(_ ports: Ports) async throws {
        try await invite(ports)
        #expect(try await !ports.invitations.isInvited(digest, to: .production, at: Samples.later))
        #expect(try await !ports.invitations.useInvitation(digest, to: .production, at: Samples.later))
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
        #expect(try await ports.invitations.useInvitation(one.digest, to: .production, at: Samples.moment))
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
        #expect(try await ports.invitations.useInvitation(all[0].digest, to: .production, at: Samples.moment))
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
        #expect(try await !ports.invitations.useInvitation(one.digest, to: .production, at: Samples.moment))
        #expect(try await ports.invitations.invitations(after: nil, limit: 10, at: Samples.moment) == [other])
        #expect(try await ports.invitations.useInvitation(other.digest, to: .production, at: Samples.moment))
    }

    @Sendable
    private static func usedOrWithdrawn(_ ports: Ports) async throws {
        try await invite(ports)
        let succeeded = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<5 {
                group.addTask {
                    try await ports.invitations.useInvitation(digest, to: .production, at: Samples.moment)
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
        #expect(try await ports.invitations.useInvitation(digest, to: .production, at: Samples.moment))
        #expect(try await ports.invitations.withdrawInvitation(digest, at: Samples.moment) == nil)
    }
}
