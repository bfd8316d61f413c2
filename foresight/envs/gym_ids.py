"""The names under which Gymnasium finds the domains. Importing this costs no jax."""

from gymnasium.envs.registration import register, registry

IDS = {
    "sokoban": "foresight/Sokoban-v0",
    "boxworld": "foresight/Boxworld-v0",
    "minipacman": "foresight/MiniPacman-v0",
    "gridworld": "foresight/Gridworld-v0",
}


def register_all() -> None:
    """Make the ids known to Gymnasium; a second call changes nothing."""
    for domain, name in IDS.items():
        if name not in registry:
            register(
                id=name,
                entry_point="foresight.envs.gym:GymEnv",
                vector_entry_point="foresight.envs.gym:GymVectorEnv",
                kwargs={"domain": domain},
            )
