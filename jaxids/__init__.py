"""jaxids: information-directed bandits with heteroscedastic noise, simulated by the thousand in one compiled loop."""

from jaxids import beliefs, confidence, information, policies, problems, ratio
from jaxids.simulate import Result, simulate

__version__ = "0.1.0"
__all__ = ["Result", "beliefs", "confidence", "information", "policies", "problems", "ratio", "simulate"]
