import Delivery
import Notifications
import Testing

// The use of invitations to make a grant, whose answers may be lost.
extension StoreContract {
    private static let key = [UInt8](repeating: 1, count: 32)
    private static let other = [UInt8](repeating: 2, count: 32)

    private static func use(
        _ ports: Ports,
        _ invitation: GrantInvitation,
        _ key: [UInt8],
        _ grant: GrantID,
        at moment: Timestamp = Samples.moment,
    ) async throws -> UsedGrantInvitation? {
        try await ports.grants.useGrantInvitation(invitation.digest, for: key, grant: grant, at: moment)?.used
    }

    @Sendable
    static func answersGrantAgain(_ ports: Ports) async throws {
        let (invitation, one, two) = (try await inviteToGrant(ports), try id("one"), try id("two"))
        let used = UsedGrantInvitation(invitation: invitation, key: key, grant: one)
        #expect(try await use(ports, invitation, key, one) == used)
        #expect(try await use(ports, invitation, key, two) == used)
        #expect(try await use(ports, invitation, other, two) == nil)
        #expect(try await ports.grants.grantInvitations(at: Samples.moment) == [])
        #expect(try await ports.grants.removeGrantInvitation(invitation.digest, at: Samples.moment) == nil)
        #expect(try await ports.grants.usedGrantInvitations(after: nil, limit: 2) == [used])
        #expect(try await ports.grants.usedGrantInvitations(after: invitation.digest, limit: 2) == [])
        #expect(try await use(ports, invitation, key, one, at: Samples.later) == nil)
    }

    @Sendable
    static func answersAllGrantsAlike(_ ports: Ports) async throws {
        let invitation = try await inviteToGrant(ports)
        let answers = try await withThrowingTaskGroup(of: (used: UsedGrantInvitation, isNew: Bool)?.self) { group in
            for name in ["b", "c", "d", "e", "f", "g", "h"] {
                let grant = try id(name)
                group.addTask {
                    try await ports.grants.useGrantInvitation(
                        invitation.digest, for: key, grant: grant, at: Samples.moment)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.count { $0?.isNew == true } == 1)
        #expect(Set(answers.map { $0?.used.grant }).count == 1 && answers.allSatisfy { $0 != nil })
    }

    @Sendable
    static func restoresGrantInvitation(_ ports: Ports) async throws {
        let (invitation, grant) = (try await inviteToGrant(ports), try await newGrant(ports))
        let used = try #require(try await use(ports, invitation, key, grant.id))
        try await ports.grants.restore(used)
        #expect(try await ports.grants.grantInvitations(at: Samples.moment) == [invitation])
        #expect(try await ports.grants.usedGrantInvitations(after: nil, limit: 2) == [])
        // Nothing changes if it is not used, or the grant was made.
        try await ports.grants.restore(used)
        #expect(try await use(ports, invitation, other, grant.id) != nil)
        _ = try await ports.accounts.apply(.createGrant(grant))
        try await ports.grants.restore(UsedGrantInvitation(invitation: invitation, key: other, grant: grant.id))
        #expect(try await ports.grants.grantInvitations(at: Samples.moment) == [])
    }
}
