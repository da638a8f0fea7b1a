package import Matching
package import Notifications

/// Makes the stages of the connections of a binary API.
package struct BinaryStages: BinaryScenes {
    private let observation: RequestObservation
    private let environment: Environment

    package init(_ observation: RequestObservation, _ environment: Environment) {
        self.observation = observation
        self.environment = environment
    }

    package var refusesConnection: Bool { observation.observer.refuses(environment, .binary) }

    package func scene(
        of performer: any BinaryPerformer,
        _ connection: (number: UInt64, serverName: String?)?,
        team: @escaping () -> TeamID?,
    ) -> any BinaryScene {
        BinaryStage(
            performer, observation, environment, number: connection?.number ?? observation.observer.connectionOpened(),
            serverName: connection?.serverName, team: team)
    }
}
