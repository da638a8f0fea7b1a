import CarillonTesting
import Foundation
import Matching
import Testing

@Suite struct RehearsalRuleTests {
    /// What the library offers for each fault; nil for nothing. The compiler asks about a new fault.
    private static func fault(_ name: FaultName) -> RehearsalRule.Fault? {
        switch name {
        case .answer: .answer(reason: "BadTopic")
        case .goAway: .goAway()
        case .reset: .reset()
        case .close: .close()
        case .hang: .hang
        case .delay: .delay(.seconds(1))
        case .lose: .lose
        case .duplicate: .duplicate(2)
        case .settings: .maximumConcurrentStreams(1)
        case .omit: .withoutUniqueID
        case .certificate: .certificate(.otherAuthority)
        case .tls: .tls(versions: ["1.2"])
        case .handshake: .handshake(.slow)
        case .refuse, .errorPacket: nil
        }
    }

    @Test(arguments: FaultName.allCases) func `A fault has the name that the service reads`(_ name: FaultName) throws {
        guard let fault = Self.fault(name) else { return }
        let document = try JSONSerialization.jsonObject(with: JSONEncoder().encode(fault)) as? [String: Any]
        #expect(document.map { Array($0.keys) } == [name.rawValue])
    }

    @Test func `The values of faults of TLS are those that the service reads`() {
        #expect(
            RehearsalRule.Certificate.allCases.map(\.rawValue)
                == HandshakeFault.Certificate.allCases.map(\.rawValue))
        #expect(
            RehearsalRule.Handshake.allCases.map(\.rawValue) == HandshakeFault.Disturbance.allCases.map(\.rawValue))
    }
}
